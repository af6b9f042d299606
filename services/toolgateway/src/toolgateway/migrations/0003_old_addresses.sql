-- Where a customer was reached before an email or phone changes: written before the store is called, so that a process
-- that dies after the change can still tell the old address, and gone again once the row has ended.
create table old_addresses (
    key     text not null references actions (key),
    channel text not null check (channel in ('email', 'whatsapp')),
    address text not null check (address <> ''),
    locale  text,
    kept_at timestamptz not null default clock_timestamp(),
    primary key (key, channel, address)
);
grant select, insert, delete on old_addresses to ${ledger};
