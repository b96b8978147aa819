// The views that are loaded when somebody opens one of them.

export { ApiKeys } from "./api_keys";
export { CronJob } from "./cron_job";
export { Schema } from "./schema";
export { Schemas } from "./schemas";
export { Sequences } from "./sequences";
export { Settings } from "./settings";
export { Tenant } from "./tenant";
export { Tenants } from "./tenants";
