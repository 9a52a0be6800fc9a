-- Values become whole numbers of a step of their method, so that their sums are exact and they can be packed. Methods of before keep 0.

alter table method
  add column step double precision not null default 0, -- a value is n / round(1 / step); of a beat, its interval in ms; 0: not rounded
  add constraint method_step_check check (step >= 0 and step <= 1);
