package watch

import (
	"os"

	"golang.org/x/sys/unix"
)

// exitNotice opens a pidfd (Linux 5.3, non-blocking since 5.10). wait returns
// true when the process has ended and false after quit.
func exitNotice(pid int) (wait func() bool, quit func(), ok bool) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, nil, false
	}
	file := os.NewFile(uintptr(fd), "pidfd")
	conn, err := file.SyscallConn()
	if err != nil {
		file.Close()
		return nil, nil, false
	}
	wait = func() bool {
		// Read parks the goroutine in the runtime's poller until the
		// descriptor is readable, which a pidfd is once the process ended.
		err := conn.Read(func(fd uintptr) bool { return readable(int(fd)) })
		file.Close()
		return err == nil
	}
	return wait, func() { file.Close() }, true
}

func readable(fd int) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&unix.POLLIN != 0
}
