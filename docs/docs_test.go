// Package docs_test holds what the pages say against what is there: links,
// commands and flags, tests, tools, record types, versions, modules.
package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"peermux/wake"
)

const root = ".."

// pages are the Markdown files of the repository: path from the root to content.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "bench/*/*.md", "hookscripts/files/*.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			name, err := filepath.Rel(root, file)
			if err != nil {
				t.Fatal(err)
			}
			found[name] = read(t, name)
		}
	}
	if len(found) < 8 {
		t.Fatalf("found %d pages only", len(found))
	}
	return found
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestLinks(t *testing.T) {
	checked := 0
	for name, text := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			checked++
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(name), target)); err != nil {
				t.Errorf("%s links to %s: %v", name, m[1], err)
			}
		}
	}
	if checked == 0 {
		t.Error("no link was found")
	}
}

// TestReadmeLinksEveryPage: a page that nothing links to is not found.
func TestReadmeLinksEveryPage(t *testing.T) {
	readme := read(t, "README.md")
	for name := range pages(t) {
		if strings.HasPrefix(name, "docs/") && !strings.Contains(readme, "]("+name+")") {
			t.Errorf("README.md does not link to %s", name)
		}
	}
}

var test = regexp.MustCompile(`\bTest[A-Z]\w*`)

func TestGuaranteesNameRealTests(t *testing.T) {
	inCode := testNames(t)
	_, table, found := strings.Cut(read(t, "README.md"), "| guarantee | test |")
	if !found {
		t.Fatal("README.md has no guarantee table")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	var where []string // the folders that a row named last, as `wake`
	checked := 0
	word := regexp.MustCompile("`([a-z][\\w/-]*)`|" + test.String())
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		if len(cells) < 3 {
			continue
		}
		where = where[:0]
		for _, m := range word.FindAllStringSubmatch(cells[2], -1) {
			if m[1] != "" {
				where = append(where[:0], m[1])
				continue
			}
			checked++
			folders := inCode[m[0]]
			if len(folders) == 0 || len(where) > 0 && !slices.Contains(folders, where[0]) {
				t.Errorf("the README names %s in %v; it is in %v", m[0], where, folders)
			}
		}
	}
	if checked < 10 {
		t.Errorf("only %d tests are named", checked)
	}
}

// testNames maps each test in the source to the folders that have it.
func testNames(t *testing.T) map[string][]string {
	t.Helper()
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	names := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == "dist") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		for _, m := range function.FindAllStringSubmatch(string(data), -1) {
			names[m[1]] = append(names[m[1]], filepath.ToSlash(folder))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestVersions: what the pages say they were checked with is what is pinned.
func TestVersions(t *testing.T) {
	clients := read(t, "internal/e2e/clients/package.json")
	readme := read(t, "README.md")
	for _, c := range []struct{ title, module string }{
		{"Claude Code", "@anthropic-ai/claude-code"}, {"Codex", "@openai/codex"},
	} {
		pin := regexp.MustCompile(`"` + regexp.QuoteMeta(c.module) + `": "([\d.]+)"`).FindStringSubmatch(clients)
		if pin == nil {
			t.Fatalf("package.json does not pin %s", c.module)
		}
		if !strings.Contains(readme, c.title+" "+pin[1]) {
			t.Errorf("README.md does not say that it is checked with %s %s", c.title, pin[1])
		}
	}
	tested := read(t, "internal/doctor/client.go")
	for name, text := range pages(t) {
		for _, version := range regexp.MustCompile(`\b(2\.1|0\.1\d\d)\.\d+\b`).FindAllString(text, -1) {
			if !strings.Contains(tested, `"`+version+`"`) {
				t.Errorf("%s speaks of client version %s, which doctor does not call tested", name, version)
			}
		}
	}
	goVersion := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "go.mod"))[1]
	for _, m := range regexp.MustCompile(`\bGo (\d+\.\d+)`).FindAllStringSubmatch(readme, -1) {
		if m[1] != goVersion {
			t.Errorf("README.md asks for Go %s, go.mod for %s", m[1], goVersion)
		}
	}
	if !regexp.MustCompile(`^\d+\.\d+\.\d+\n$`).MatchString(read(t, "VERSION")) {
		t.Error("VERSION is no version")
	}
	if changes, version := read(t, "CHANGELOG.md"), strings.TrimSpace(read(t, "VERSION")); !strings.Contains(changes, version) {
		t.Errorf("CHANGELOG.md does not speak of %s", version)
	}
}

func TestMakeTargetsExist(t *testing.T) {
	makefile := read(t, "Makefile")
	for _, name := range []string{"README.md", "CONTRIBUTING.md"} {
		for _, m := range regexp.MustCompile("(?m)(?:^|`)make ([a-z][a-z0-9]*)").FindAllStringSubmatch(read(t, name), -1) {
			if !regexp.MustCompile(`(?m)^` + m[1] + `:`).MatchString(makefile) {
				t.Errorf("%s: there is no make %s", name, m[1])
			}
		}
	}
}

// TestWakeRules reads what docs/connecting.md shows of wake.toml as that is read.
func TestWakeRules(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```toml\n(.*?)```").FindAllStringSubmatch(read(t, "docs/connecting.md"), -1)
	var file struct {
		BudgetPerHour int  `toml:"budget_per_hour"`
		Unattended    bool `toml:"unattended"`
		Broadcast     struct{ Wake string }
		Client        map[string]wake.Rule `toml:"client"`
	}
	for _, block := range blocks {
		if err := toml.NewDecoder(strings.NewReader(block[1])).DisallowUnknownFields().Decode(&file); err != nil {
			t.Fatal(err)
		}
	}
	if file.BudgetPerHour != wake.DefaultBudget || len(file.Client) != 1 || file.Broadcast.Wake != "high" {
		t.Errorf("got %+v", file)
	}
}

func TestEveryDependencyIsExplained(t *testing.T) {
	page := read(t, "docs/dependencies.md")
	var direct []string
	for line := range strings.Lines(read(t, "go.mod")) {
		m := regexp.MustCompile(`^\t(\S+\.\S+) v\S+\n`).FindStringSubmatch(line)
		if m != nil {
			direct = append(direct, m[1])
		}
	}
	if len(direct) == 0 {
		t.Fatal("no direct dependency was found")
	}
	for _, module := range direct {
		if !strings.Contains(page, "`"+module+"`") {
			t.Errorf("docs/dependencies.md does not say what %s is for", module)
		}
	}
	rows := regexp.MustCompile("(?m)^\\| (`[^|]+) \\|").FindAllStringSubmatch(page, -1)
	for _, row := range rows {
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			if !slices.Contains(direct, m[1]) {
				t.Errorf("docs/dependencies.md explains %s, which go.mod does not require directly", m[1])
			}
		}
	}
}
