package fleet

// Check reads what is remembered of each fleet and returns what is wrong with it:
// what is damaged cannot be ended by Down.
func Check(home string) []error {
	f := &Fleet{Home: home}
	names, err := f.Sessions()
	if err != nil {
		return []error{err}
	}
	var errs []error
	for _, name := range names {
		if _, err := f.load(name); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}
