-- Erasure and export of one customer's data (docs/decisions/0010).

${erasure_tables}

grant select, insert, delete on erased_conversations to ${support};
grant select, insert on erasures to ${support};
