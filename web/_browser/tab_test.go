package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is one Chromium for all tests.
var browser context.Context

// starting is how long Chromium may take to start on a machine that has other work.
const starting = 3 * time.Minute

// limit is how long a test waits for something to appear. On two cores that twenty other processes want, a view takes half
// a minute.
const limit = 4 * time.Minute

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	path := chromium()
	if path == "" {
		fmt.Println("NOT TESTED: there is no Chromium (set CHROME, or install Debian's chromium)")
		return 0
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WSURLReadTimeout(starting))
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	defer cancel()
	ctx, end := chromedp.NewContext(allocator)
	defer end()
	if err := chromedp.Do(ctx); err != nil {
		fmt.Println("Chromium does not start:", err)
		return 1
	}
	browser = ctx
	return m.Run()
}

func chromium() string {
	for _, path := range []string{os.Getenv("CHROME"), "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"} {
		if _, err := os.Stat(path); path != "" && err == nil {
			return path
		}
	}
	return ""
}

// tab is a tab of the browser. What the page reports as an error fails the test.
type tab struct {
	t    *testing.T
	ctx  context.Context
	base string // the address without a fragment

	mu     sync.Mutex
	faults []string
}

// open opens an address in a tab of its own, in a window of that size.
func open(t *testing.T, address string, width, height int, dark bool) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	base, _, _ := strings.Cut(address, "#")
	p := &tab{t: t, ctx: ctx, base: base}
	if err := chromedp.Do(ctx); err != nil { // a tab lives as long as the context that it was opened with
		t.Fatal(err)
	}
	p.do(chromedp.EmulateViewport(int64(width), int64(height)))
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Listen(ctx, p.hear); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, f := range p.faults {
			t.Errorf("the page reports: %s", f)
		}
	})
	p.do(chromedp.Navigate(address))
	return p
}

// hear keeps exceptions and errors of the console.
func (p *tab) hear(event any) {
	fault := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		fault = e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			fault += " " + e.ExceptionDetails.Exception.Description
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError {
			fault = fmt.Sprint("console.error: ", e.Args)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			fault = e.Entry.Text + " " + e.Entry.URL
		}
	}
	if fault != "" {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.faults = append(p.faults, fault)
	}
}

// forgive forgets errors that a test has caused on purpose.
func (p *tab) forgive(part string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := p.faults[:0]
	for _, f := range p.faults {
		if !strings.Contains(f, part) {
			kept = append(kept, f)
		}
	}
	p.faults = kept
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, limit)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

// js evaluates an expression.
func js[T any](p *tab, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, limit)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// await waits until an expression is true. The limit is that of the context: of its own, Poll ends after 30 s.
func (p *tab) await(expression string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, limit)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool]("!!("+expression+")", chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(0))); err != nil {
		p.t.Fatalf("%s does not become true: %v\nthe page says:\n%s", expression, err, js[string](p, "document.body.innerText.slice(0, 2000)"))
	}
}

// click clicks on what a selector finds, in one step: the page makes tables and lists again while runs arrive, so that an
// element that was found in one step can be gone in the next.
func (p *tab) click(selector string) {
	p.t.Helper()
	p.await(fmt.Sprintf("(() => { const e = document.querySelector(%q); if (!e?.checkVisibility()) return false; e.click(); return true; })()", selector))
}

// press sends keys to what has the focus.
func (p *tab) press(keys ...string) {
	p.t.Helper()
	for _, k := range keys {
		p.do(chromedp.KeyEvent(k))
	}
}

// picture keeps a screenshot where SCREENSHOTS asks for them.
func (p *tab) picture(name string) {
	p.t.Helper()
	dir := os.Getenv("SCREENSHOTS")
	if dir == "" {
		return
	}
	ctx, cancel := context.WithTimeout(p.ctx, limit)
	defer cancel()
	data, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), data, 0o600)
	}
	if err != nil {
		p.t.Error(err)
	}
}
