-- The trace headers of the message that a run answers: whichever worker plays it goes on in that trace.
alter table runs add column trace jsonb;
