// Sections that moved to another page: an old link leads to the new place.
(() => {
  const MOVED = {
    "typed-jobs.html#send-it": "send-a-job.html",
    "typed-jobs.html#wait-for-the-result": "send-a-job.html#wait-for-the-result",
    "typed-jobs.html#say-which-server-gets-the-jobs": "send-a-job.html#say-which-server-gets-the-jobs",
    "typed-jobs.html#send-many-or-in-an-order": "send-a-job.html#send-many-or-in-an-order",
    "typed-jobs.html#jobs-of-other-languages": "send-a-job.html#jobs-of-other-languages",
    "testing.html#use-a-real-server": "testing-server.html#use-a-real-server",
    "testing.html#keep-tests-from-a-real-server": "testing-server.html#keep-tests-from-a-real-server",
    "testing.html#web-frameworks-and-threads": "testing-server.html#web-frameworks-and-threads",
    "testing.html#differences-between-the-modes": "testing-server.html#differences-between-the-modes",
    "operations.html#metrics": "monitoring.html#metrics",
    "operations.html#logs": "monitoring.html#logs",
  };
  const here = location.pathname.split("/").pop() + location.hash;
  if (Object.hasOwn(MOVED, here)) location.replace(MOVED[here]);
})();
