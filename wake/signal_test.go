package wake

import "syscall"

const (
	stopSignal = syscall.SIGSTOP
	contSignal = syscall.SIGCONT
)
