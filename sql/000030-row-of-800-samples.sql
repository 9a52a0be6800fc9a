-- A row of sample_block holds at least 800 samples up to 8 seconds (docs/decisions/0011); rows of fewer seconds, written before, stay as they are.

comment on table sample_block is
  'one row: the samples of one channel in 1, 2, 4 or 8 seconds of the device clock, the fewest that make 800 samples';
