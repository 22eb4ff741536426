package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stateLetters maps p_stat (sys/proc.h: SIDL 1, SRUN 2, SSLEEP 3, SSTOP 4,
// SZOMB 5) to the letters that Linux uses.
const stateLetters = "?IRSTZ"

func stat(pid int) (Info, error) {
	kp, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		// The kernel answers an unknown pid with nothing at all, which
		// SysctlKinfoProc reports as EIO.
		if errors.Is(err, unix.EIO) || errors.Is(err, unix.ESRCH) {
			return Info{}, ErrGone
		}
		return Info{}, err
	}
	if int(kp.Proc.P_pid) != pid {
		return Info{}, ErrGone
	}
	info := Info{
		ID:    ID{PID: pid, Start: startString(kp.Proc.P_starttime)},
		PPID:  int(kp.Eproc.Ppid),
		PGrp:  int(kp.Eproc.Pgid),
		TPGID: int(kp.Eproc.Tpgid),
		State: '?',
		Comm:  unix.ByteSliceToString(kp.Proc.P_comm[:]),
	}
	if n := int(kp.Proc.P_stat); n > 0 && n < len(stateLetters) {
		info.State = stateLetters[n]
	}
	if kp.Eproc.Tdev != -1 { // NODEV
		info.TTY = int64(kp.Eproc.Tdev)
	}
	if info.TPGID == 0 {
		info.TPGID = -1
	}
	if sid, err := unix.Getsid(pid); err == nil {
		info.Session = sid
	}
	return info, nil
}

func startString(tv unix.Timeval) string {
	return fmt.Sprintf("%d.%06d", tv.Sec, tv.Usec)
}

func parseStart(s string) (time.Time, bool) {
	secs, micros, ok := strings.Cut(s, ".")
	if !ok {
		return time.Time{}, false
	}
	sec, err1 := strconv.ParseInt(secs, 10, 64)
	usec, err2 := strconv.ParseInt(micros, 10, 64)
	if err1 != nil || err2 != nil {
		return time.Time{}, false
	}
	return time.Unix(sec, usec*1000), true
}

// TTYDevice is the device number of a terminal file such as /dev/ttys003, in the
// form of [Info].TTY.
func TTYDevice(name string) (int64, error) {
	var st unix.Stat_t
	if err := unix.Stat(name, &st); err != nil {
		return 0, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFCHR {
		return 0, fmt.Errorf("%s is not a terminal", name)
	}
	return int64(st.Rdev), nil
}

func startsAfter(parent, child string) bool {
	p, okP := parseStart(parent)
	c, okC := parseStart(child)
	return !okP || !okC || p.After(c)
}

func startedAt(id ID, _ time.Time) (time.Time, bool) { return parseStart(id.Start) }

func bootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}

func readProcArgs(pid int) procArgs {
	data, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil {
		return procArgs{}
	}
	p, ok := parseProcArgs(data)
	if !ok {
		return procArgs{}
	}
	return p
}

func environ(pid int) []string { return readProcArgs(pid).environ }

func args(pid int) []string { return readProcArgs(pid).args }

func exe(pid int) string { return readProcArgs(pid).exe }

// cwd asks proc_info(2) for PROC_PIDVNODEPATHINFO, which libproc's
// proc_pidinfo wraps; there is no sysctl for it, and cgo is not wanted.
func cwd(pid int) string {
	const (
		sysProcInfo     = 336
		callPIDInfo     = 2
		vnodePathInfo   = 9
		vnodeInfoSize   = 152 // struct vnode_info, before the path
		pathSize        = 1024
		vnodePathLength = 2 * (vnodeInfoSize + pathSize)
	)
	var buf [vnodePathLength]byte
	n, _, errno := syscall.Syscall6(sysProcInfo, callPIDInfo, uintptr(pid), vnodePathInfo,
		0, uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
	if errno != 0 || int(n) != len(buf) {
		return ""
	}
	name := buf[vnodeInfoSize : vnodeInfoSize+pathSize]
	end := bytes.IndexByte(name, 0)
	if end <= 0 {
		return ""
	}
	return string(name[:end])
}

// files would need libproc; nothing that can be done without it is worth it.
func files(int) ([]string, error) { return nil, errors.ErrUnsupported }
