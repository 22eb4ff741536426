package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestReadmeNamesRows holds the README's table of speed to the names that the bench
// prints, so that each figure there can be found in its output.
func TestReadmeNamesRows(t *testing.T) {
	names := literals(t)
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, speed, _ := strings.Cut(string(readme), "\n## Speed\n")
	speed, _, _ = strings.Cut(speed, "\n## ")
	rows := regexp.MustCompile(`(?m)^\| ([^|]+) \| [^|]* \| ([^|]*) \|$`).FindAllStringSubmatch(speed, -1)
	if len(rows) < 5 {
		t.Fatalf("the README's table has %d rows", len(rows))
	}
	for _, row := range rows[1:] { // the first is the heading
		floor, _, _ := strings.Cut(strings.TrimSpace(row[2]), ": ")
		for _, name := range []string{row[1], floor} {
			if name != "" && !names(name) {
				t.Errorf("the README has %q, and the bench prints no such row", name)
			}
		}
	}
}

// literals reports whether a text is one of this program's strings, with any number
// where the string has one to come.
func literals(t *testing.T) func(string) bool {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, strings.ReplaceAll(regexp.QuoteMeta(text), "%d", "[0-9]+"))
			}
			return true
		})
	}
	return regexp.MustCompile("^(" + strings.Join(all, "|") + ")$").MatchString
}
