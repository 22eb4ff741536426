// Package mailbox keeps mail between sessions so that nothing accepted is lost.
package mailbox
