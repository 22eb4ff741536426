package hookrun

// Handles reports whether a client's event does anything here; the installer's
// tests hold what is installed against it.
func Handles(client, event string) bool {
	_, ok := actions(client)[event]
	return ok
}
