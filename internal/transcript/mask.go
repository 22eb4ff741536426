package transcript

// Mask replaces what looks like a secret in any text, such as that of a terminal
// pane, by [Masked], and counts the replacements.
func Mask(s string) (string, int) { return mask(s) }
