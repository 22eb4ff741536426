package ptyhost

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// hosted starts a program on a new terminal, with or without a host in between.
func hosted(b *testing.B, host bool, command ...string) (master *os.File, end func()) {
	b.Helper()
	home, err := os.MkdirTemp("", "pmx")
	if err != nil {
		b.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "PEERMUX_HOME=" + home}
	if host {
		command = append([]string{self}, command...)
		env = append(env, "PEERMUX_PTYHOST_TEST=host")
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = env
	master, slave, err := pty.Open()
	if err != nil {
		b.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	slave.Close()
	return master, func() {
		master.Close()
		_ = cmd.Wait() // it ends by SIGHUP
		os.RemoveAll(home)
	}
}

func variants(b *testing.B, f func(b *testing.B, host bool)) {
	b.Run("direct", func(b *testing.B) { f(b, false) })
	b.Run("host", func(b *testing.B) { f(b, true) })
}

// BenchmarkOutput is what a program that writes as fast as it can gets through.
func BenchmarkOutput(b *testing.B) {
	line := []byte("\x1b[32m" + strings.Repeat("flood ", 16) + "❯\x1b[0m\r\n")
	data := bytes.Repeat(line, (64<<20)/len(line))
	file := filepath.Join(b.TempDir(), "flood")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		b.Fatal(err)
	}
	variants(b, func(b *testing.B, host bool) {
		b.SetBytes(int64(len(data)))
		buf := make([]byte, 64<<10)
		for b.Loop() {
			master, end := hosted(b, host, "sh", "-c", "stty raw -echo; exec cat "+file)
			for n := 0; n < len(data); {
				got, err := master.Read(buf)
				if err != nil {
					b.Fatalf("after %d bytes: %v", n, err)
				}
				n += got
			}
			end()
		}
	})
}

// BenchmarkKey is one key to a program that echoes it, and back.
func BenchmarkKey(b *testing.B) {
	variants(b, func(b *testing.B, host bool) {
		master, end := hosted(b, host, "sh", "-c", "stty raw -echo; echo; exec cat")
		defer end()
		buf := make([]byte, 4096)
		if _, err := master.Read(buf); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := master.WriteString("x"); err != nil {
				b.Fatal(err)
			}
			if _, err := master.Read(buf); err != nil {
				b.Fatal(err)
			}
		}
	})
}
