// Command go_sdk calls the public API of the official Go SDK, and prints a line of JSON for each
// call. OJS_URL names the server, OJS_API_KEY the key if it asks for one.
package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"reflect"
	"strings"
	"time"

	ojs "github.com/openjobspec/ojs-go-sdk"
)

const patience = 180 * time.Second

var (
	url   = os.Getenv("OJS_URL")
	key   = os.Getenv("OJS_API_KEY")
	run   = random()
	queue = "go-" + run
	quiet = slog.New(slog.NewTextHandler(io.Discard, nil))
)

func random() string {
	some := make([]byte, 4)
	_, _ = rand.Read(some)
	return hex.EncodeToString(some)
}

// call makes one call and prints what became of it.
func call(name string, make func(context.Context)) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	line := map[string]any{"call": name, "ok": true}
	func() {
		defer func() {
			if problem := recover(); problem != nil {
				detail := fmt.Sprint(problem)
				line["ok"], line["detail"] = false, detail[:min(len(detail), 400)]
			}
		}()
		make(ctx)
	}()
	text, _ := json.Marshal(line)
	fmt.Println(string(text))
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func same(found, expected any) {
	if !reflect.DeepEqual(found, expected) {
		panic(fmt.Sprintf("found %#v, expected %#v", found, expected))
	}
}

func holds(isTrue bool, what any) {
	if !isTrue {
		panic(fmt.Sprintf("does not hold: %#v", what))
	}
}

func is(err, kind error) {
	if !errors.Is(err, kind) {
		panic(fmt.Sprintf("found %v, expected %v", err, kind))
	}
}

func until(ctx context.Context, isDone func() bool) {
	for !isDone() {
		select {
		case <-ctx.Done():
			panic("no end in sight")
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// request asks what the SDK has no method for, to set the stage.
func request(ctx context.Context, method, path string, body any) map[string]any {
	data, _ := json.Marshal(body)
	made := must(http.NewRequestWithContext(ctx, method, url+"/ojs/v1"+path, strings.NewReader(string(data))))
	made.Header.Set("Content-Type", "application/openjobspec+json")
	if key != "" {
		made.Header.Set("Authorization", "Bearer "+key)
	}
	answer := must(http.DefaultClient.Do(made))
	defer answer.Body.Close()
	found := map[string]any{}
	_ = json.NewDecoder(answer.Body).Decode(&found)
	found["status"] = answer.StatusCode
	return found
}

func newClient() *ojs.Client {
	options := []ojs.ClientOption{}
	if key != "" {
		options = append(options, ojs.WithAuthToken(key))
	}
	return must(ojs.NewClient(url, options...))
}

func main() {
	client := newClient()
	jobs(client)
	queues(client)
	workflows(client)
	deadLetters(client)
	crons(client)
	schemas(client)
	system(client)
	workers(client)
}

func jobs(client *ojs.Client) {
	var first *ojs.Job
	call("Client.Enqueue", func(ctx context.Context) {
		first = must(client.Enqueue(ctx, "go.simple", ojs.Args{"to": "x"}, ojs.WithQueue(queue)))
		same([]any{first.Type, first.Queue, first.State}, []any{"go.simple", queue, ojs.JobStateAvailable})
		same(first.Args, ojs.Args{"to": "x"})
		holds(first.CreatedAt != nil && first.EnqueuedAt != nil, first)
	})
	call("Client.Enqueue with options", func(ctx context.Context) {
		jitter := false
		job := must(client.Enqueue(ctx, "go.options", ojs.Args{"n": 1}, ojs.WithQueue(queue),
			ojs.WithPriority(7), ojs.WithTimeout(90*time.Second), ojs.WithTags("one", "two"),
			ojs.WithMeta(map[string]any{"k": "v"}), ojs.WithExpiresAt(time.Now().Add(time.Hour)),
			ojs.WithVisibilityTimeout(time.Minute),
			ojs.WithRetry(ojs.RetryPolicy{MaxAttempts: 5, InitialInterval: 2 * time.Second, Jitter: &jitter})))
		same([]any{job.Priority, job.TimeoutMS, job.MaxAttempts}, []any{7, 90000, 5})
		same([]any{job.Tags, job.Meta}, []any{[]string{"one", "two"}, map[string]any{"k": "v"}})
		holds(job.ExpiresAt != nil, job)
	})
	call("Client.Enqueue with WithDelay", func(ctx context.Context) {
		job := must(client.Enqueue(ctx, "go.delayed", nil, ojs.WithQueue(queue), ojs.WithDelay(time.Hour)))
		same(job.State, ojs.JobStateScheduled)
		holds(job.ScheduledAt != nil, job)
	})
	call("Client.Enqueue with WithUnique (reject)", func(ctx context.Context) {
		policy := ojs.WithUnique(ojs.UniquePolicy{Key: []string{"user"}, Period: time.Hour, OnConflict: "reject"})
		must(client.Enqueue(ctx, "go.unique", ojs.Args{"user": run, "n": 1}, ojs.WithQueue(queue), policy))
		_, err := client.Enqueue(ctx, "go.unique", ojs.Args{"user": run, "n": 2}, ojs.WithQueue(queue), policy)
		is(err, ojs.ErrDuplicate)
		must(client.Enqueue(ctx, "go.unique", ojs.Args{"user": run + "2"}, ojs.WithQueue(queue), policy))
	})
	call("Client.Enqueue with WithUnique (ignore)", func(ctx context.Context) {
		policy := ojs.WithUnique(ojs.UniquePolicy{Key: []string{"type", "args"}, Period: time.Minute, OnConflict: "ignore"})
		one := must(client.Enqueue(ctx, "go.ignored", ojs.Args{"user": run}, ojs.WithQueue(queue), policy))
		two := must(client.Enqueue(ctx, "go.ignored", ojs.Args{"user": run}, ojs.WithQueue(queue), policy))
		same(two.ID, one.ID)
	})
	call("Client.EnqueueBatch", func(ctx context.Context) {
		wanted := []ojs.JobRequest{
			{Type: "go.batch", Args: ojs.Args{"n": "a"}, Options: []ojs.EnqueueOption{ojs.WithQueue(queue)}},
			{Type: "go.batch", Args: ojs.Args{"n": "b"}, Options: []ojs.EnqueueOption{ojs.WithQueue(queue)}},
		}
		made := must(client.EnqueueBatch(ctx, wanted))
		same([]any{made[0].Args["n"], made[1].Args["n"]}, []any{"a", "b"})
	})
	call("Client.GetJob", func(ctx context.Context) {
		same(must(client.GetJob(ctx, first.ID)).Args, ojs.Args{"to": "x"})
	})
	call("Client.GetJob of an unknown job", func(ctx context.Context) {
		_, err := client.GetJob(ctx, "01900000-0000-7000-8000-000000000000")
		is(err, ojs.ErrNotFound)
	})
	call("Client.CancelJob", func(ctx context.Context) {
		job := must(client.CancelJob(ctx, first.ID))
		same([]any{job.State, job.PreviousState}, []any{ojs.JobStateCancelled, "available"})
		holds(job.CancelledAt != nil, job)
	})
	call("Client.CancelJob of a cancelled job", func(ctx context.Context) {
		_, err := client.CancelJob(ctx, first.ID)
		var problem *ojs.Error
		holds(errors.As(err, &problem) && problem.HTTPStatus == 409, err)
	})
}

func queues(client *ojs.Client) {
	call("Client.ListQueues", func(ctx context.Context) {
		found, page, err := client.ListQueues(ctx)
		check(err)
		holds(page.Total >= len(found), page)
		for _, each := range found {
			if each.Name == queue {
				same(each.Status, "active")
				return
			}
		}
		panic("the queue is not in the list")
	})
	call("Client.GetQueueStats", func(ctx context.Context) {
		name := queue + "-stats"
		for range 3 {
			must(client.Enqueue(ctx, "go.counted", nil, ojs.WithQueue(name)))
		}
		must(client.Enqueue(ctx, "go.counted", nil, ojs.WithQueue(name), ojs.WithDelay(time.Hour)))
		found := must(client.GetQueueStats(ctx, name))
		same([]any{found.Queue, found.Status}, []any{name, "active"})
		same([]any{found.Available, found.Scheduled, found.Active}, []any{3, 1, 0})
		holds(found.ComputedAt != "", found)
	})
	call("Client.PauseQueue", func(ctx context.Context) {
		check(client.PauseQueue(ctx, queue))
		same(must(client.GetQueueStats(ctx, queue)).Status, "paused")
	})
	call("Client.ResumeQueue", func(ctx context.Context) {
		check(client.ResumeQueue(ctx, queue))
		same(must(client.GetQueueStats(ctx, queue)).Status, "active")
	})
}

func workflows(client *ojs.Client) {
	step := func(n string) ojs.Step {
		return ojs.Step{Type: "go.step" + n, Args: ojs.Args{"n": n}, Options: []ojs.EnqueueOption{ojs.WithQueue(queue)}}
	}
	var made *ojs.Workflow
	call("Client.CreateWorkflow (Chain)", func(ctx context.Context) {
		definition := ojs.Chain(step("a"), step("b"))
		definition.Name = "go-chain"
		made = must(client.CreateWorkflow(ctx, definition))
		same([]any{made.Name, len(made.Steps)}, []any{"go-chain", 2})
		same([]any{made.Steps[1].ID, made.Steps[1].DependsOn}, []any{"step-1", []string{"step-0"}})
	})
	call("Client.CreateWorkflow (Group)", func(ctx context.Context) {
		found := must(client.CreateWorkflow(ctx, ojs.Group(step("a"), step("b"))))
		holds(found.Steps[0].JobID != nil && found.Steps[1].JobID != nil, found)
	})
	call("Client.CreateWorkflow (Batch)", func(ctx context.Context) {
		last := step("c")
		found := must(client.CreateWorkflow(ctx, ojs.Batch(ojs.BatchCallbacks{OnComplete: &last}, step("a"))))
		same([]any{len(found.Steps), found.Steps[1].ID}, []any{2, "on-complete"})
	})
	call("Client.GetWorkflow", func(ctx context.Context) {
		found := must(client.GetWorkflow(ctx, made.ID))
		same([]any{found.ID, found.State, len(found.Steps)}, []any{made.ID, ojs.WorkflowStateRunning, 2})
	})
	call("Client.CancelWorkflow", func(ctx context.Context) {
		found := must(client.CancelWorkflow(ctx, made.ID))
		same([]any{found.State, found.StepsCancelled}, []any{ojs.WorkflowStateCancelled, 2})
		holds(found.CancelledAt != nil, found)
	})
}

// dead makes a dead letter; the SDK's RetryPolicy cannot say on_exhaustion.
func dead(ctx context.Context, client *ojs.Client) string {
	retry := map[string]any{"max_attempts": 1, "on_exhaustion": "dead_letter"}
	options := map[string]any{"queue": queue + "-dead", "retry": retry}
	body := map[string]any{"type": "go.dead", "args": []any{map[string]any{"n": "x"}}, "options": options}
	id := request(ctx, "POST", "/jobs", body)["id"].(string)
	until(ctx, func() bool {
		jobs, _ := request(ctx, "POST", "/workers/fetch", map[string]any{"queues": []string{queue + "-dead"}})["jobs"].([]any)
		return len(jobs) == 1
	})
	problem := map[string]any{"code": "handler_error", "message": "no", "retryable": false}
	request(ctx, "POST", "/workers/nack", map[string]any{"job_id": id, "error": problem})
	return id
}

func deadLetters(client *ojs.Client) {
	var one, two string
	call("Client.ListDeadLetterJobs", func(ctx context.Context) {
		one, two = dead(ctx, client), dead(ctx, client)
		found, page, err := client.ListDeadLetterJobs(ctx, queue+"-dead", 10, 0)
		check(err)
		same([]any{len(found), page.Total, found[0].Args, found[0].Error.Message}, []any{2, 2, ojs.Args{"n": "x"}, "no"})
		holds(found[0].DiscardedAt != nil, found)
	})
	call("Client.RetryDeadLetterJob", func(ctx context.Context) {
		job := must(client.RetryDeadLetterJob(ctx, one))
		same([]any{job.State, job.Attempt}, []any{ojs.JobStateAvailable, 0})
	})
	call("Client.DiscardDeadLetterJob", func(ctx context.Context) {
		check(client.DiscardDeadLetterJob(ctx, two))
		_, err := client.GetJob(ctx, two)
		is(err, ojs.ErrNotFound)
	})
}

func crons(client *ojs.Client) {
	name := "go-cron-" + run
	call("Client.RegisterCronJob", func(ctx context.Context) {
		found := must(client.RegisterCronJob(ctx, ojs.CronJobRequest{
			Name: name, Cron: "0 9 * * *", Timezone: "Europe/Vienna", Type: "go.cron",
			Args: ojs.Args{"n": "x"}, Options: []ojs.EnqueueOption{ojs.WithQueue(queue), ojs.WithPriority(3)},
		}))
		same([]any{found.Name, found.Cron, found.Status}, []any{name, "0 9 * * *", "active"})
		holds(found.NextRunAt != nil && found.CreatedAt != nil, found)
	})
	call("Client.ListCronJobs", func(ctx context.Context) {
		for _, each := range must(client.ListCronJobs(ctx)) {
			if each.Name == name {
				same([]any{each.Timezone, each.Options["queue"]}, []any{"Europe/Vienna", queue})
				return
			}
		}
		panic("the cron job is not in the list")
	})
	call("Client.UnregisterCronJob", func(ctx context.Context) {
		check(client.UnregisterCronJob(ctx, name))
		for _, each := range must(client.ListCronJobs(ctx)) {
			holds(each.Name != name, each)
		}
	})
}

func schemas(client *ojs.Client) {
	kind := "go.schema" + run
	uri := "https://example.com/schemas/" + kind + "/1.0.0"
	schema := json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"array"}`)
	call("Client.RegisterSchema", func(ctx context.Context) {
		found := must(client.RegisterSchema(ctx, ojs.SchemaDefinition{URI: uri, Type: kind, Version: "1.0.0", Schema: schema}))
		same([]any{found.URI, found.Type, found.Version}, []any{uri, kind, "1.0.0"})
	})
	call("Client.ListSchemas", func(ctx context.Context) {
		found, _, err := client.ListSchemas(ctx)
		check(err)
		holds(len(found) > 0 && !found[0].CreatedAt.IsZero(), found)
	})
	call("Client.GetSchema", func(ctx context.Context) {
		same(string(must(client.GetSchema(ctx, uri)).Schema), string(schema))
	})
	call("Client.DeleteSchema", func(ctx context.Context) {
		check(client.DeleteSchema(ctx, uri))
		_, err := client.GetSchema(ctx, uri)
		is(err, ojs.ErrNotFound)
	})
}

func system(client *ojs.Client) {
	call("Client.Health", func(ctx context.Context) {
		found := must(client.Health(ctx))
		same([]any{found.Status, found.Backend.Status}, []any{"ok", "ok"})
	})
	call("Client.Manifest", func(ctx context.Context) {
		found := must(client.Manifest(ctx))
		holds(found.Capabilities["batch_enqueue"] && found.OJSVersion != "", found)
		holds(len(found.Extensions) > 0 && len(found.Endpoints) > 0, found)
	})
}

func newWorker() *ojs.Worker {
	options := []ojs.WorkerOption{
		ojs.WithQueues(queue + "-worker"), ojs.WithPollInterval(100 * time.Millisecond),
		ojs.WithHeartbeatInterval(200 * time.Millisecond), ojs.WithLogger(quiet),
		ojs.WithConcurrency(2), ojs.WithGracePeriod(2 * time.Second), ojs.WithLabels("go"),
	}
	if key != "" {
		options = append(options, ojs.WithWorkerAuth(key))
	}
	return ojs.NewWorker(url, options...)
}

// ends runs a worker until a job is in a terminal state.
func ends(ctx context.Context, client *ojs.Client, worker *ojs.Worker, id string) *ojs.Job {
	running, stop := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	go func() { stopped <- worker.Start(running) }()
	var job *ojs.Job
	until(ctx, func() bool {
		job = must(client.GetJob(ctx, id))
		return job.State.IsTerminal()
	})
	stop()
	<-stopped
	return job
}

func workers(client *ojs.Client) {
	on := ojs.WithQueue(queue + "-worker")
	call("Worker: handler and middleware", func(ctx context.Context) {
		worker, seen := newWorker(), make(chan string, 4)
		worker.Register("go.work", func(jc ojs.JobContext) error {
			time.Sleep(500 * time.Millisecond)
			check(jc.Heartbeat())
			jc.SetResult(map[string]any{"to": jc.Job.Args["to"]})
			return nil
		})
		worker.Use(func(jc ojs.JobContext, next ojs.HandlerFunc) error {
			seen <- jc.Job.Type
			return next(jc)
		})
		job := must(client.Enqueue(ctx, "go.work", ojs.Args{"to": "x"}, on))
		done := ends(ctx, client, worker, job.ID)
		same([]any{done.State, done.Result, <-seen}, []any{ojs.JobStateCompleted, map[string]any{"to": "x"}, "go.work"})
	})
	call("RegisterTyped", func(ctx context.Context) {
		type address struct {
			To string `json:"to"`
		}
		worker, seen := newWorker(), make(chan string, 4)
		ojs.RegisterTyped(worker, "go.typed", func(_ ojs.JobContext, args address) error {
			seen <- args.To
			return nil
		})
		job := must(client.Enqueue(ctx, "go.typed", ojs.Args{"to": "x"}, on))
		same([]any{ends(ctx, client, worker, job.ID).State, <-seen}, []any{ojs.JobStateCompleted, "x"})
	})
	call("Worker: retry after an error", func(ctx context.Context) {
		worker, attempts, jitter := newWorker(), []int{}, false
		worker.Register("go.flaky", func(jc ojs.JobContext) error {
			attempts = append(attempts, jc.Attempt)
			if jc.Attempt == 1 {
				return errors.New("not yet")
			}
			return nil
		})
		retry := ojs.WithRetry(ojs.RetryPolicy{MaxAttempts: 3, InitialInterval: 200 * time.Millisecond, Jitter: &jitter})
		job := must(client.Enqueue(ctx, "go.flaky", nil, on, retry))
		same([]any{ends(ctx, client, worker, job.ID).State, attempts}, []any{ojs.JobStateCompleted, []int{1, 2}})
	})
	call("Worker: NonRetryable", func(ctx context.Context) {
		worker := newWorker()
		worker.Register("go.fatal", func(ojs.JobContext) error { return ojs.NonRetryable(errors.New("never")) })
		job := must(client.Enqueue(ctx, "go.fatal", nil, on))
		done := ends(ctx, client, worker, job.ID)
		same([]any{done.State, done.Error.Message}, []any{ojs.JobStateDiscarded, "never"})
	})
	call("Worker: terminate by directive", func(ctx context.Context) {
		worker := newWorker()
		worker.Register("go.idle", func(ojs.JobContext) error { return nil })
		running, stop := context.WithCancel(ctx)
		stopped := make(chan error, 1)
		go func() { stopped <- worker.Start(running) }()
		until(ctx, func() bool { // it reports no labels, so all workers get the directive; Start goes on
			request(ctx, "POST", "/admin/workers/terminate", map[string]any{"all": true})
			return worker.State() == ojs.WorkerStateTerminate
		})
		stop()
		check(<-stopped)
	})
}
