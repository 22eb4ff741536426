package wake

// CheckFile reads $PEERMUX_HOME/wake.toml as a wake does and returns what is wrong
// with it. A wrong file is as good as none: none of what the person set in it counts.
func CheckFile(home string) error {
	_, err := loadConfig(home)
	return err
}
