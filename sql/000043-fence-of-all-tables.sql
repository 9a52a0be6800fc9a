-- What a stream's channels are called, the hashes of packets and what was set aside are written by the owner of the packet log, too: an
-- instance that was followed by another writes none of them any more (see 000035).
create trigger stream_channel_fence before insert or update or delete on stream_channel for each statement execute function fence_writer();
create trigger packet_hash_fence before insert or update or delete on packet_hash for each statement execute function fence_writer();
create trigger set_aside_fence before insert or update or delete on set_aside for each statement execute function fence_writer();
