-- What models used for one message, and for the summary of one handoff: tokens, and US dollars at list prices.
alter table runs
    add column model_tokens   bigint  not null default 0 check (model_tokens >= 0),
    add column model_cost_usd numeric not null default 0 check (model_cost_usd >= 0 and model_cost_usd <> 'NaN');
alter table handoffs
    add column summary_tokens   bigint  not null default 0 check (summary_tokens >= 0),
    add column summary_cost_usd numeric not null default 0 check (summary_cost_usd >= 0 and summary_cost_usd <> 'NaN');
