package doctor

import "peermux/internal/switchboard"

// environment checks the variables of the one who runs the examination. Sessions
// that were started elsewhere may have others; get_my_session tells them.
func (e *examination) environment() {
	for _, wrong := range switchboard.WrongSettings(e.Board.Env) {
		e.find(Finding{
			Severity: Warning, Area: "system", What: "a variable has a value that means nothing", Evidence: wrong,
			Mend: "correct it where it is set, and restart the sessions that were started with it",
		})
	}
}
