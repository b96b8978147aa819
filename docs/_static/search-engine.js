// Find pages by any of the words of a question: stems and synonyms count, titles count most.
// A classic script, so that it also works from a folder; Node runs the same code in the tests.
(() => {
  const STOP = new Set(
    ("a about after again all am an and any are as at be been before but by can could did do does " +
      "for from get gets give go happen happens has have how i if in into is it its just me must my " +
      "no not of off on one or our out should so some that the their them then there these they " +
      "this to too up us use using want was way we were what when where which who whose why will with " +
      "without would you your").split(" "),
  );

  // A word on the left also looks for those on the right, which count a little less.
  const SYNONYMS = {
    actor: "worker", alert: "alarm", api_key: "key", ask: "query", atomic: "transaction",
    autoretry: "retry", beat: "cron schedule", bill: "cost", broker: "queue", bull: "comparison",
    callback: "workflow event", canary: "deploy", canvas: "workflow", chord: "workflow group", cluster: "worker",
    cheap: "cost", cheaper: "cost", compare: "comparison", crash: "die dead", crontab: "cron",
    customer: "tenant", daily: "cron schedule", dashboard: "page", death: "dead", deadletter: "dead letter",
    dedupe: "duplicate unique", deduplicate: "duplicate unique", dlq: "dead letter", docker: "container",
    dollar: "cost", dramatiq: "celery", duplicate: "unique", ecs: "container worker", encrypt: "encryption secret",
    eta: "delay schedule", etl: "export", every: "cron schedule", exactly: "duplicate", exception: "error",
    execute: "run", expensive: "cost", fail: "error retry", fargate: "container", future: "delay",
    gdpr: "erase delete", grafana: "metric", heartbeat: "worker", hourly: "cron schedule", idempotent: "duplicate unique",
    idempotency: "duplicate unique", javascript: "language node", js: "language node", kill: "die dead stop", kubernetes: "container",
    k8s: "container", later: "delay", lost: "die dead", midnight: "cron", migrate: "coming",
    money: "cost", monitor: "metric alarm", monitoring: "metric alarm", night: "cron schedule",
    nightly: "cron schedule", node: "language", golang: "language go", observability: "metric trace log", once: "duplicate unique",
    order: "priority workflow", outbox: "transaction", parallel: "group concurrency", password: "secret", percent: "progress",
    periodic: "cron schedule", permission: "scope key", pipeline: "workflow chain", pii: "secret encryption erase", poison: "dead letter",
    postpone: "delay", price: "cost", priced: "cost", pricing: "cost", progressbar: "progress", prometheus: "metric",
    publish: "event", python: "", queue: "", quota: "limit", recover: "restore", recurring: "cron schedule",
    redrive: "replay dead letter", release: "deploy upgrade", reply: "result", rerun: "retry replay", resque: "sidekiq",
    return: "result", returned: "result", rq: "sidekiq", scale: "capacity concurrency", secret: "encryption",
    slow: "latency", speed: "latency", fast: "latency", sqs: "", stuck: "why run", tail: "event", tenant: "limit", throttle: "limit rate", throughput: "capacity", timezone: "cron", tomorrow: "delay",
    transactional: "transaction", undo: "restore", unittest: "test", pytest: "test", version: "change",
    webhook: "event", weekly: "cron schedule", wait: "delay result", xray: "trace", zone: "timezone cron",
  };

  const WEIGHT = { Guides: 1, Operate: 0.95, Reference: 0.55, "Design and proof": 0.4, Decisions: 0.15 };
  const OF_SYNONYM = 0.55;

  function stem(word) {
    let w = word;
    if (w.length < 4 || /\d/.test(w)) return w;
    for (const [end, instead] of [
      ["ization", "ize"], ["ations", "ate"], ["ation", "ate"], ["nesses", ""], ["ness", ""],
      ["ries", "ry"], ["ies", "y"], ["ied", "y"], ["sses", "ss"], ["ches", "ch"], ["shes", "sh"],
    ]) {
      if (w.endsWith(end) && w.length - end.length >= 2) { w = w.slice(0, -end.length) + instead; break; }
    }
    if (/[^su]s$/.test(w)) w = w.slice(0, -1);
    const cut = /^(.*[aeiouy].*?)(ing|ed|er|ers)$/.exec(w);
    if (cut && cut[1].length >= 3) {
      w = cut[1];
      if (/([^aeiouls])\1$/.test(w)) w = w.slice(0, -1);
    }
    return w.length > 3 ? w.replace(/e$/, "") : w;
  }

  // These mean the same everywhere, so that neither is rarer than the other.
  const SAME = { task: "job", tasks: "jobs" };

  const words = (text) =>
    (text.replaceAll("FastAPI", "fastapi").replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase().match(/[a-z0-9]+/g) ?? [])
      .map((word) => SAME[word] ?? word);
  const terms = (text) => words(text).map(stem);
  const exact = (text) => text.toLowerCase().replace(/[`()]/g, "").trim();

  function counted(text) {
    const found = new Map();
    for (const term of terms(text)) found.set(term, (found.get(term) ?? 0) + 1);
    return found;
  }

  // The index with its words counted: once for each visit of the site.
  function prepare(raw) {
    const pages = raw.pages.map(([name, title, group, called]) => ({
      name, title, group, inTitle: counted(title), called: counted(called), headings: new Map(), body: new Map(), length: 0, sections: [],
    }));
    const holders = new Map();
    for (const [number, heading, anchor, text] of raw.sections) {
      const page = pages[number];
      const section = { heading, anchor, text, inHeading: counted(heading), body: counted(text) };
      page.sections.push(section);
      for (const term of section.inHeading.keys()) page.headings.set(term, 1);
      for (const [term, count] of section.body) {
        page.body.set(term, (page.body.get(term) ?? 0) + count);
        page.length += count;
      }
    }
    for (const page of pages) {
      for (const term of new Set([...page.inTitle.keys(), ...page.called.keys(), ...page.headings.keys(), ...page.body.keys()])) {
        holders.set(term, (holders.get(term) ?? 0) + 1);
      }
    }
    const mean = pages.reduce((sum, page) => sum + page.length, 0) / pages.length;
    return { pages, holders, mean };
  }

  // What is looked for: each word of the question, with the other words that stand for it.
  function wanted(question) {
    const all = words(question.replace(/\bat once\b/gi, "many"));
    const some = all.filter((word) => !STOP.has(word));
    const extra = /\bdlq\b|dead.?letter/i.test(question) ? ["dead", "letter"] : [];
    const kept = some.length ? some : all;
    return [...new Set([...kept, ...extra])].map((word) => {
      const others = SYNONYMS[word] ?? SYNONYMS[stem(word)] ?? "";
      return [[stem(word), 1], ...others.split(" ").filter(Boolean).map((other) => [stem(other), OF_SYNONYM])];
    });
  }

  function best(alternatives, value) {
    return alternatives.reduce((most, [term, weight]) => Math.max(most, weight * value(term)), 0);
  }

  function search({ pages, holders, mean }, question) {
    const asked = wanted(question);
    const name = exact(question);
    const rarity = (term) => Math.max(0.1, Math.log((pages.length + 1) / (holders.get(term) ?? pages.length)));
    const saturated = (count, length) => (2.2 * count) / (count + 1.2 * (0.4 + (0.6 * length) / mean));
    const hits = [];
    for (const page of pages) {
      let sum = 0;
      let matched = 0;
      for (const alternatives of asked) {
        const got = best(alternatives, (term) => {
          const count = page.body.get(term) ?? 0;
          const places =
            (page.called.has(term) ? 3 : 0) +
            (page.inTitle.has(term) ? 4 / Math.sqrt(page.inTitle.size) : 0) +
            (page.headings.has(term) ? 0.9 : 0) +
            (count ? saturated(count, page.length) : 0);
          return places * rarity(term);
        });
        if (got > 0) matched += 1;
        sum += got;
      }
      if (!matched) continue;
      const share = matched / asked.length;
      let score = sum * share * share * WEIGHT[page.group];
      let section = null;
      let most = -1;
      for (const candidate of page.sections) {
        const value = asked.reduce(
          (total, alternatives) =>
            total +
            best(alternatives, (term) =>
              ((candidate.inHeading.has(term) ? 2 : 0) + Math.min(candidate.body.get(term) ?? 0, 3) / 3) * rarity(term)),
          0,
        );
        const same = exact(candidate.heading);
        const named = same === name || (name.includes(".") || /[_A-Z-]/.test(question)) && same.endsWith(`.${name}`);
        if (named && candidate.anchor) score += 60;
        if (value + (named ? 100 : 0) > most) { most = value + (named ? 100 : 0); section = candidate; }
      }
      const identifier = /^[\w.-]*_[\w.-]*$|^--[\w-]+$/.test(question.trim());
      if (identifier && page.group === "Reference") {
        const holder = page.sections.find((candidate) => exact(candidate.text).includes(name));
        if (holder) { score += 30; section = holder; }
      }
      const number = /^decisions\/0*(\d+)-/.exec(page.name)?.[1];
      if (number && words(question).includes(number) && /decision|record|adr/i.test(question)) score += 60;
      hits.push({ name: page.name, title: page.title, group: page.group, section, score });
    }
    return hits.sort((one, other) => other.score - one.score);
  }

  globalThis.ojsSearch = { prepare, search, wanted, stem };
})();
