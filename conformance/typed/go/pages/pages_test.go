package pages_test

import (
	"encoding/json"
	"os"
	"testing"

	"tidings/conformance/typed/go/live"
	"tidings/conformance/typed/go/pages"
)

func TestUnionsInterfacesAndScalarsHaveTypesOfTheirOwn(t *testing.T) {
	url := os.Getenv("PAGES_URL")
	if url == "" {
		t.Skip("conformance/typed runs this with a service: make conformance")
	}
	client, _ := live.Clients(url, os.Getenv("CARL"))
	day, meta := "2026-11-20", json.RawMessage(`{"of":["anything",1.50]}`)
	made, err := pages.Make(t.Context(), client, &pages.CreatePageInput{
		Title:     "One",
		Hero:      &pages.AssetInput{Video: &pages.VideoInput{Url: "https://example.org/v.mp4"}},
		Blocks:    []*pages.BlockInput{{Text: &pages.TextInput{Body: "Hello"}}, {Image: &pages.ImageInput{Url: "https://example.org/i.png"}}},
		Published: &day,
		Price:     &pages.Money{Amount: "9.50", Currency: "EUR"},
		Meta:      &meta,
	})
	if err != nil {
		t.Fatal(err)
	}
	read, err := pages.Page(t.Context(), client, made.CreatePage.Id)
	if err != nil {
		t.Fatal(err)
	}
	page := read.Page.Whole
	if hero, is := (*page.Hero).(*pages.WholeHeroVideo); !is || hero.Seconds != 30 {
		t.Errorf("the hero is %+v", *page.Hero)
	}
	told := ""
	for _, block := range page.Blocks {
		switch b := block.(type) {
		case *pages.WholeBlocksText:
			told += b.Body + ";"
		case *pages.WholeBlocksImage:
			told += b.Url + ";"
		}
	}
	if told != "Hello;https://example.org/i.png;" {
		t.Errorf("the blocks are %s", told)
	}
	if *page.Price != (pages.Money{Amount: "9.50", Currency: "EUR"}) || *page.Published != day || page.Token != nil || string(*page.Meta) != string(meta) {
		t.Errorf("it read %+v", page)
	}
}
