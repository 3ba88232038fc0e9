// Reads PromQL queries and series from a JSON object, and writes for each query what is wrong with it, or what it asks
// for and what it finds in the series.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// Task is what is asked of this program.
type Task struct {
	Queries []string `json:"queries"`
	Series  []Series `json:"series"`
	At      int64    `json:"at"`
}

// Series has points of seconds and values.
type Series struct {
	Labels map[string]string `json:"labels"`
	Points [][2]float64      `json:"points"`
}

// Asked are labels that a query expects on the series of some metrics.
type Asked struct {
	Metrics []string `json:"metrics"`
	Labels  []string `json:"labels"`
}

// Answer is about one query.
type Answer struct {
	Error string              `json:"error"`
	Asked []Asked             `json:"asked"`
	Found []map[string]string `json:"found"`
}

func main() {
	var task Task
	if err := json.NewDecoder(os.Stdin).Decode(&task); err != nil {
		fmt.Fprintln(os.Stderr, "queries and series are expected:", err)
		os.Exit(2)
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e7, Timeout: time.Minute})
	answers := make([]Answer, len(task.Queries))
	for i, query := range task.Queries {
		answers[i] = answer(engine, query, task)
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func answer(engine *promql.Engine, query string, task Task) Answer {
	root, err := parser.ParseExpr(query)
	if err != nil {
		return Answer{Error: err.Error()}
	}
	asked := []Asked{}
	parser.Inspect(root, func(node parser.Node, _ []parser.Node) error {
		switch node := node.(type) {
		case *parser.VectorSelector:
			asked = append(asked, Asked{metrics(node), matched(node)})
		case *parser.AggregateExpr:
			asked = append(asked, Asked{metrics(node), node.Grouping})
		case *parser.BinaryExpr:
			if node.VectorMatching != nil {
				asked = append(asked, Asked{metrics(node), node.VectorMatching.MatchingLabels})
			}
		}
		return nil
	})
	found, err := find(engine, query, task)
	if err != nil {
		return Answer{Error: err.Error()}
	}
	return Answer{Asked: asked, Found: found}
}

func metrics(node parser.Node) []string {
	names := []string{}
	parser.Inspect(node, func(node parser.Node, _ []parser.Node) error {
		if selector, is := node.(*parser.VectorSelector); is {
			names = append(names, selector.Name)
		}
		return nil
	})
	return names
}

func matched(selector *parser.VectorSelector) []string {
	names := []string{}
	for _, matcher := range selector.LabelMatchers {
		if matcher.Name != labels.MetricName {
			names = append(names, matcher.Name)
		}
	}
	return names
}

// The labels of everything that the query gives at that time.
func find(engine *promql.Engine, query string, task Task) ([]map[string]string, error) {
	asked, err := engine.NewInstantQuery(context.Background(), memory(task.Series), nil, query, time.Unix(task.At, 0))
	if err != nil {
		return nil, err
	}
	defer asked.Close()
	vector, err := asked.Exec(context.Background()).Vector()
	found := []map[string]string{}
	for _, sample := range vector {
		found = append(found, sample.Metric.Map())
	}
	return found, err
}

// memory is a store of series.
type memory []Series

func (m memory) Querier(_, _ int64) (storage.Querier, error) { return m, nil }

func (m memory) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	set := &set{}
	for _, series := range m {
		if fits(series, matchers) {
			samples := []chunks.Sample{}
			for _, it := range series.Points {
				samples = append(samples, point(it))
			}
			set.left = append(set.left, storage.NewListSeries(labels.FromMap(series.Labels), samples))
		}
	}
	return set
}

func fits(series Series, matchers []*labels.Matcher) bool {
	for _, matcher := range matchers {
		if !matcher.Matches(series.Labels[matcher.Name]) {
			return false
		}
	}
	return true
}

func (m memory) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (m memory) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (m memory) Close() error { return nil }

type set struct {
	now  storage.Series
	left []storage.Series
}

func (s *set) Next() bool {
	if len(s.left) == 0 {
		return false
	}
	s.now, s.left = s.left[0], s.left[1:]
	return true
}

func (s *set) At() storage.Series                { return s.now }
func (s *set) Err() error                        { return nil }
func (s *set) Warnings() annotations.Annotations { return nil }

type point [2]float64

func (p point) T() int64                      { return int64(p[0] * 1000) }
func (p point) F() float64                    { return p[1] }
func (p point) H() *histogram.Histogram       { return nil }
func (p point) FH() *histogram.FloatHistogram { return nil }
func (p point) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (p point) Copy() chunks.Sample           { return p }
