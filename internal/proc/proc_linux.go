package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ticksPerSecond is USER_HZ, the unit of /proc/PID/stat; 100 on every
// architecture that Go supports on Linux.
const ticksPerSecond = 100

func path(pid int, name string) string {
	return "/proc/" + strconv.Itoa(pid) + "/" + name
}

// statSize holds the longest line that the kernel writes: 52 numbers and a name.
const statSize = 2048

func stat(pid int) (Info, error) {
	var buf [statSize]byte
	n, err := slurp(path(pid, "stat"), buf[:])
	if err != nil {
		return Info{}, err
	}
	info, err := parseStat(buf[:n])
	if err == nil && info.PID != pid {
		err = fmt.Errorf("stat of pid %d describes pid %d", pid, info.PID)
	}
	return info, err
}

// slurp reads a small file of /proc in one go, with three system calls: a listing
// looks at hundreds of processes, and os.ReadFile takes twice as many.
func slurp(name string, buf []byte) (int, error) {
	fd, err := retry(func() (int, error) { return unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return 0, gone("open", name, err)
	}
	n, err := retry(func() (int, error) { return unix.Read(fd, buf) })
	unix.Close(fd) // opened for reading: there is nothing to lose
	if err != nil {
		return 0, gone("read", name, err)
	}
	return n, nil
}

func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != unix.EINTR {
			return n, err
		}
	}
}

// gone turns what the kernel says about a process that does not exist, or ended
// between open and read (ESRCH), into [ErrGone].
func gone(op, name string, err error) error {
	if err == unix.ENOENT || err == unix.ESRCH {
		return ErrGone
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// parseStat reads the one line of /proc/PID/stat (proc_pid_stat(5)). The name in
// parentheses may itself hold spaces and parentheses, so the last ")" ends it.
func parseStat(data []byte) (Info, error) {
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || end < open {
		return Info{}, errors.New("malformed stat: no name in parentheses")
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(data[:open])))
	if err != nil {
		return Info{}, fmt.Errorf("malformed stat: %v", err)
	}
	info := Info{ID: ID{PID: pid}, Comm: string(data[open+1 : end])}
	rest := data[end+1:]
	state, rest := field(rest) // field 3
	if len(state) != 1 {
		return Info{}, errors.New("malformed stat: no state")
	}
	info.State = state[0]
	tty := 0
	for _, to := range []*int{&info.PPID, &info.PGrp, &info.Session, &tty, &info.TPGID} { // fields 4 to 8
		var text []byte
		text, rest = field(rest)
		if *to, err = strconv.Atoi(string(text)); err != nil {
			return Info{}, fmt.Errorf("malformed stat: %v", err)
		}
	}
	info.TTY = ttyNumber(tty)
	for range 13 { // fields 9 to 21
		_, rest = field(rest)
	}
	start, _ := field(rest) // field 22
	if _, err := strconv.ParseUint(string(start), 10, 64); err != nil {
		return Info{}, fmt.Errorf("malformed stat: %v", err)
	}
	info.Start = string(start)
	return info, nil
}

// field takes the next word off a line; a listing reads a thousand lines of 52.
func field(line []byte) (word, rest []byte) {
	line = bytes.TrimLeft(line, " \n")
	if i := bytes.IndexAny(line, " \n"); i >= 0 {
		return line[:i], line[i:]
	}
	return line, nil
}

// ttyNumber turns the kernel's 32-bit encoding (major in bits 8-19, minor in the
// rest) into a device number as stat(2) has it.
func ttyNumber(n int) int64 {
	if n == 0 {
		return 0
	}
	enc := uint32(n)
	return int64(unix.Mkdev(enc>>8&0xfff, enc&0xff|enc>>12&0xfff00))
}

// TTYDevice is the device number of a terminal file such as /dev/pts/3, in the
// form of [Info].TTY.
func TTYDevice(name string) (int64, error) {
	var st unix.Stat_t
	if err := unix.Stat(name, &st); err != nil {
		return 0, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFCHR {
		return 0, fmt.Errorf("%s is not a terminal", name)
	}
	return int64(unix.Mkdev(unix.Major(st.Rdev), unix.Minor(st.Rdev))), nil
}

func startsAfter(parent, child string) bool {
	p, errP := strconv.ParseUint(parent, 10, 64)
	c, errC := strconv.ParseUint(child, 10, 64)
	return errP != nil || errC != nil || p > c
}

func startedAt(id ID, now time.Time) (time.Time, bool) {
	ticks, err := strconv.ParseInt(id.Start, 10, 64)
	if err != nil || ticks < 0 {
		return time.Time{}, false
	}
	// Start times count from boot and go on through suspend, like this clock.
	var boot unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot); err != nil {
		return time.Time{}, false
	}
	age := time.Duration(boot.Nano()) - time.Duration(ticks)*(time.Second/ticksPerSecond)
	return now.Add(-age), true
}

func bootID() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

func environ(pid int) []string { return nulList(path(pid, "environ")) }

func args(pid int) []string { return nulList(path(pid, "cmdline")) }

func nulList(name string) []string {
	data := make([]byte, 16<<10)
	n, err := slurp(name, data)
	if err == nil && n == len(data) { // a long one
		data, err = os.ReadFile(name)
		n = len(data)
	}
	if err != nil || n == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data[:n]), "\x00"), "\x00")
}

func exe(pid int) string {
	name, err := os.Readlink(path(pid, "exe"))
	if err != nil {
		return ""
	}
	// An upgrade replaced the file under a running program.
	return strings.TrimSuffix(name, " (deleted)")
}

func cwd(pid int) string {
	name, err := os.Readlink(path(pid, "cwd"))
	if err != nil || strings.HasSuffix(name, " (deleted)") {
		return ""
	}
	return name
}

func files(pid int) ([]string, error) {
	dir := path(pid, "fd")
	fds, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var open []string
	for _, fd := range fds {
		// One that was closed meanwhile is not open.
		if name, err := os.Readlink(dir + "/" + fd.Name()); err == nil && strings.HasPrefix(name, "/") {
			open = append(open, strings.TrimSuffix(name, " (deleted)"))
		}
	}
	return open, nil
}
