package fetch

import (
	"context"
	"time"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
)

const (
	markdownTime = 2 * time.Second
	maxContent   = 16 << 20 // bytes of one page's markdown
)

// markdown renders a cleaned tree, which it changes. It ends with ctx or after markdownTime: a renderer in
// front of all others answers for every node from then on.
func markdown(ctx context.Context, n *html.Node) (string, error) {
	conv := converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(),
		table.NewTablePlugin(
			table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal),
			table.WithNewlineBehavior(table.NewlineBehaviorPreserve),
			table.WithSkipEmptyRows(true),
			table.WithHeaderPromotion(true),
		),
	))
	prepare(n)
	until, late := time.Now().Add(markdownTime), false
	conv.Register.Renderer(func(converter.Context, converter.Writer, *html.Node) converter.RenderStatus {
		if late = late || ctx.Err() != nil || time.Now().After(until); late {
			return converter.RenderSuccess
		}
		return converter.RenderTryNext
	}, 0)
	out, err := conv.ConvertNode(n)
	switch {
	case err != nil:
		return "", err
	case ctx.Err() != nil:
		return "", ctx.Err()
	case late:
		return "", overBudget("rendering it takes too long")
	case len(out) > maxContent:
		return "", overBudget("its markdown is too long")
	}
	return string(out), nil
}

// prepare does in linear time what the converter would do in quadratic time: it removes what is not rendered
// and joins the text that is left side by side.
func prepare(n *html.Node) {
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		switch {
		case child.Type == html.ElementNode && (child.Data == "head" || child.Data == "meta"),
			child.Type == html.CommentNode, child.Type == html.DoctypeNode:
			n.RemoveChild(child)
		default:
			prepare(child)
		}
		child = next
	}
	mergeText(n)
}
