import * as $protobuf from "protobufjs/minimal.js";
import Long = require("long");

/** Namespace biosignal. */
export namespace biosignal {

    /** Namespace v1. */
    namespace v1 {

        /**
         * Properties of a Packet.
         * @deprecated Use biosignal.v1.Packet.$Properties instead.
         */
        interface IPacket extends biosignal.v1.Packet.$Properties {
        }

        /** Represents a Packet. */
        class Packet {

            /**
             * Constructs a new Packet.
             * @param [properties] Properties to set
             */
            constructor(properties?: biosignal.v1.Packet.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Packet schemaVersion. */
            schemaVersion: number;

            /** Packet deviceId. */
            deviceId: string;

            /** Packet bootId. */
            bootId: Uint8Array;

            /** Packet seq. */
            seq: Long;

            /** Packet t0DeviceNs. */
            t0DeviceNs: Long;

            /** Packet t0UnixNs. */
            t0UnixNs: Long;

            /** Packet sentUnixNs. */
            sentUnixNs: Long;

            /** Packet subject. */
            subject: string;

            /** Packet firmware. */
            firmware: string;

            /** Packet blocks. */
            blocks: biosignal.v1.Block.$Properties[];

            /** Packet measurements. */
            measurements: biosignal.v1.Measurement.$Properties[];

            /** Packet events. */
            events: biosignal.v1.Event.$Properties[];

            /** Packet recordedUnixNs. */
            recordedUnixNs?: (Long|null);

            /**
             * Encodes the specified Packet message. Does not implicitly {@link biosignal.v1.Packet.verify|verify} messages.
             * @param message Packet message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: biosignal.v1.Packet.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Encodes the specified Packet message, length delimited. Does not implicitly {@link biosignal.v1.Packet.verify|verify} messages.
             * @param message Packet message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encodeDelimited(message: biosignal.v1.Packet.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a Packet message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {biosignal.v1.Packet & biosignal.v1.Packet.$Shape} Packet
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): biosignal.v1.Packet & biosignal.v1.Packet.$Shape;

            /**
             * Decodes a Packet message from the specified reader or buffer, length delimited.
             * @param reader Reader or buffer to decode from
             * @returns {biosignal.v1.Packet & biosignal.v1.Packet.$Shape} Packet
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decodeDelimited(reader: ($protobuf.Reader|Uint8Array)): biosignal.v1.Packet & biosignal.v1.Packet.$Shape;

            /**
             * Verifies a Packet message.
             * @param message Plain object to verify
             * @returns `null` if valid, otherwise the reason why it is not
             */
            static verify(message: { [k: string]: any }): (string|null);
        }

        namespace Packet {

            /** Properties of a Packet. */
            interface $Properties {

                /** Packet schemaVersion */
                schemaVersion?: (number|null);

                /** Packet deviceId */
                deviceId?: (string|null);

                /** Packet bootId */
                bootId?: (Uint8Array|null);

                /** Packet seq */
                seq?: (Long|null);

                /** Packet t0DeviceNs */
                t0DeviceNs?: (Long|null);

                /** Packet t0UnixNs */
                t0UnixNs?: (Long|null);

                /** Packet sentUnixNs */
                sentUnixNs?: (Long|null);

                /** Packet subject */
                subject?: (string|null);

                /** Packet firmware */
                firmware?: (string|null);

                /** Packet blocks */
                blocks?: (biosignal.v1.Block.$Properties[]|null);

                /** Packet measurements */
                measurements?: (biosignal.v1.Measurement.$Properties[]|null);

                /** Packet events */
                events?: (biosignal.v1.Event.$Properties[]|null);

                /** Packet recordedUnixNs */
                recordedUnixNs?: (Long|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a Packet. */
            type $Shape = biosignal.v1.Packet.$Properties;
        }

        /** ChannelKind enum. */
        enum ChannelKind {

            /** CHANNEL_KIND_UNSPECIFIED value */
            CHANNEL_KIND_UNSPECIFIED = 0,

            /** CHANNEL_KIND_ECG value */
            CHANNEL_KIND_ECG = 1,

            /** CHANNEL_KIND_PPG value */
            CHANNEL_KIND_PPG = 2,

            /** CHANNEL_KIND_EDA value */
            CHANNEL_KIND_EDA = 3,

            /** CHANNEL_KIND_TEMP value */
            CHANNEL_KIND_TEMP = 4,

            /** CHANNEL_KIND_RESP value */
            CHANNEL_KIND_RESP = 5,

            /** CHANNEL_KIND_ACC value */
            CHANNEL_KIND_ACC = 6,

            /** CHANNEL_KIND_GYRO value */
            CHANNEL_KIND_GYRO = 7,

            /** CHANNEL_KIND_OTHER value */
            CHANNEL_KIND_OTHER = 8
        }

        /**
         * Properties of a Channel.
         * @deprecated Use biosignal.v1.Channel.$Properties instead.
         */
        interface IChannel extends biosignal.v1.Channel.$Properties {
        }

        /** Represents a Channel. */
        class Channel {

            /**
             * Constructs a new Channel.
             * @param [properties] Properties to set
             */
            constructor(properties?: biosignal.v1.Channel.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Channel code. */
            code: string;

            /** Channel kind. */
            kind: biosignal.v1.ChannelKind;

            /** Channel rateNanoHz. */
            rateNanoHz: Long;

            /** Channel gain. */
            gain: number;

            /** Channel baseline. */
            baseline: number;

            /** Channel unit. */
            unit: string;

            /** Channel lead. */
            lead: string;

            /**
             * Encodes the specified Channel message. Does not implicitly {@link biosignal.v1.Channel.verify|verify} messages.
             * @param message Channel message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: biosignal.v1.Channel.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Encodes the specified Channel message, length delimited. Does not implicitly {@link biosignal.v1.Channel.verify|verify} messages.
             * @param message Channel message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encodeDelimited(message: biosignal.v1.Channel.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a Channel message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {biosignal.v1.Channel & biosignal.v1.Channel.$Shape} Channel
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): biosignal.v1.Channel & biosignal.v1.Channel.$Shape;

            /**
             * Decodes a Channel message from the specified reader or buffer, length delimited.
             * @param reader Reader or buffer to decode from
             * @returns {biosignal.v1.Channel & biosignal.v1.Channel.$Shape} Channel
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decodeDelimited(reader: ($protobuf.Reader|Uint8Array)): biosignal.v1.Channel & biosignal.v1.Channel.$Shape;

            /**
             * Verifies a Channel message.
             * @param message Plain object to verify
             * @returns `null` if valid, otherwise the reason why it is not
             */
            static verify(message: { [k: string]: any }): (string|null);
        }

        namespace Channel {

            /** Properties of a Channel. */
            interface $Properties {

                /** Channel code */
                code?: (string|null);

                /** Channel kind */
                kind?: (biosignal.v1.ChannelKind|null);

                /** Channel rateNanoHz */
                rateNanoHz?: (Long|null);

                /** Channel gain */
                gain?: (number|null);

                /** Channel baseline */
                baseline?: (number|null);

                /** Channel unit */
                unit?: (string|null);

                /** Channel lead */
                lead?: (string|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a Channel. */
            type $Shape = biosignal.v1.Channel.$Properties;
        }

        /**
         * Properties of a Block.
         * @deprecated Use biosignal.v1.Block.$Properties instead.
         */
        interface IBlock extends biosignal.v1.Block.$Properties {
        }

        /** Represents a Block. */
        class Block {

            /**
             * Constructs a new Block.
             * @param [properties] Properties to set
             */
            constructor(properties?: biosignal.v1.Block.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Block channel. */
            channel?: (biosignal.v1.Channel.$Properties|null);

            /** Block tOffsetNs. */
            tOffsetNs: Long;

            /** Block deltas. */
            deltas: number[];

            /** Block int16. */
            int16: Uint8Array;

            /** Block int24. */
            int24: Uint8Array;

            /** Block float32. */
            float32: number[];

            /** Block qmaskRuns. */
            qmaskRuns: number[];

            /**
             * Encodes the specified Block message. Does not implicitly {@link biosignal.v1.Block.verify|verify} messages.
             * @param message Block message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: biosignal.v1.Block.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Encodes the specified Block message, length delimited. Does not implicitly {@link biosignal.v1.Block.verify|verify} messages.
             * @param message Block message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encodeDelimited(message: biosignal.v1.Block.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a Block message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {biosignal.v1.Block & biosignal.v1.Block.$Shape} Block
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): biosignal.v1.Block & biosignal.v1.Block.$Shape;

            /**
             * Decodes a Block message from the specified reader or buffer, length delimited.
             * @param reader Reader or buffer to decode from
             * @returns {biosignal.v1.Block & biosignal.v1.Block.$Shape} Block
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decodeDelimited(reader: ($protobuf.Reader|Uint8Array)): biosignal.v1.Block & biosignal.v1.Block.$Shape;

            /**
             * Verifies a Block message.
             * @param message Plain object to verify
             * @returns `null` if valid, otherwise the reason why it is not
             */
            static verify(message: { [k: string]: any }): (string|null);
        }

        namespace Block {

            /** Properties of a Block. */
            interface $Properties {

                /** Block channel */
                channel?: (biosignal.v1.Channel.$Properties|null);

                /** Block tOffsetNs */
                tOffsetNs?: (Long|null);

                /** Block deltas */
                deltas?: (number[]|null);

                /** Block int16 */
                int16?: (Uint8Array|null);

                /** Block int24 */
                int24?: (Uint8Array|null);

                /** Block float32 */
                float32?: (number[]|null);

                /** Block qmaskRuns */
                qmaskRuns?: (number[]|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a Block. */
            type $Shape = biosignal.v1.Block.$Properties;
        }

        /**
         * Properties of a Measurement.
         * @deprecated Use biosignal.v1.Measurement.$Properties instead.
         */
        interface IMeasurement extends biosignal.v1.Measurement.$Properties {
        }

        /** Represents a Measurement. */
        class Measurement {

            /**
             * Constructs a new Measurement.
             * @param [properties] Properties to set
             */
            constructor(properties?: biosignal.v1.Measurement.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Measurement code. */
            code: string;

            /** Measurement tOffsetNs. */
            tOffsetNs: Long;

            /** Measurement value. */
            value: number;

            /** Measurement unit. */
            unit: string;

            /** Measurement quality. */
            quality: number;

            /**
             * Encodes the specified Measurement message. Does not implicitly {@link biosignal.v1.Measurement.verify|verify} messages.
             * @param message Measurement message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: biosignal.v1.Measurement.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Encodes the specified Measurement message, length delimited. Does not implicitly {@link biosignal.v1.Measurement.verify|verify} messages.
             * @param message Measurement message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encodeDelimited(message: biosignal.v1.Measurement.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a Measurement message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {biosignal.v1.Measurement & biosignal.v1.Measurement.$Shape} Measurement
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): biosignal.v1.Measurement & biosignal.v1.Measurement.$Shape;

            /**
             * Decodes a Measurement message from the specified reader or buffer, length delimited.
             * @param reader Reader or buffer to decode from
             * @returns {biosignal.v1.Measurement & biosignal.v1.Measurement.$Shape} Measurement
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decodeDelimited(reader: ($protobuf.Reader|Uint8Array)): biosignal.v1.Measurement & biosignal.v1.Measurement.$Shape;

            /**
             * Verifies a Measurement message.
             * @param message Plain object to verify
             * @returns `null` if valid, otherwise the reason why it is not
             */
            static verify(message: { [k: string]: any }): (string|null);
        }

        namespace Measurement {

            /** Properties of a Measurement. */
            interface $Properties {

                /** Measurement code */
                code?: (string|null);

                /** Measurement tOffsetNs */
                tOffsetNs?: (Long|null);

                /** Measurement value */
                value?: (number|null);

                /** Measurement unit */
                unit?: (string|null);

                /** Measurement quality */
                quality?: (number|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a Measurement. */
            type $Shape = biosignal.v1.Measurement.$Properties;
        }

        /**
         * Properties of an Event.
         * @deprecated Use biosignal.v1.Event.$Properties instead.
         */
        interface IEvent extends biosignal.v1.Event.$Properties {
        }

        /** Represents an Event. */
        class Event {

            /**
             * Constructs a new Event.
             * @param [properties] Properties to set
             */
            constructor(properties?: biosignal.v1.Event.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Event code. */
            code: string;

            /** Event tOffsetNs. */
            tOffsetNs: Long;

            /** Event text. */
            text: string;

            /**
             * Encodes the specified Event message. Does not implicitly {@link biosignal.v1.Event.verify|verify} messages.
             * @param message Event message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: biosignal.v1.Event.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Encodes the specified Event message, length delimited. Does not implicitly {@link biosignal.v1.Event.verify|verify} messages.
             * @param message Event message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encodeDelimited(message: biosignal.v1.Event.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes an Event message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {biosignal.v1.Event & biosignal.v1.Event.$Shape} Event
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): biosignal.v1.Event & biosignal.v1.Event.$Shape;

            /**
             * Decodes an Event message from the specified reader or buffer, length delimited.
             * @param reader Reader or buffer to decode from
             * @returns {biosignal.v1.Event & biosignal.v1.Event.$Shape} Event
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decodeDelimited(reader: ($protobuf.Reader|Uint8Array)): biosignal.v1.Event & biosignal.v1.Event.$Shape;

            /**
             * Verifies an Event message.
             * @param message Plain object to verify
             * @returns `null` if valid, otherwise the reason why it is not
             */
            static verify(message: { [k: string]: any }): (string|null);
        }

        namespace Event {

            /** Properties of an Event. */
            interface $Properties {

                /** Event code */
                code?: (string|null);

                /** Event tOffsetNs */
                tOffsetNs?: (Long|null);

                /** Event text */
                text?: (string|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of an Event. */
            type $Shape = biosignal.v1.Event.$Properties;
        }

        /**
         * Properties of a Rejection.
         * @deprecated Use biosignal.v1.Rejection.$Properties instead.
         */
        interface IRejection extends biosignal.v1.Rejection.$Properties {
        }

        /** Represents a Rejection. */
        class Rejection {

            /**
             * Constructs a new Rejection.
             * @param [properties] Properties to set
             */
            constructor(properties?: biosignal.v1.Rejection.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Rejection index. */
            index: Long;

            /** Rejection code. */
            code: string;

            /** Rejection detail. */
            detail: string;

            /**
             * Encodes the specified Rejection message. Does not implicitly {@link biosignal.v1.Rejection.verify|verify} messages.
             * @param message Rejection message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: biosignal.v1.Rejection.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Encodes the specified Rejection message, length delimited. Does not implicitly {@link biosignal.v1.Rejection.verify|verify} messages.
             * @param message Rejection message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encodeDelimited(message: biosignal.v1.Rejection.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a Rejection message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {biosignal.v1.Rejection & biosignal.v1.Rejection.$Shape} Rejection
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): biosignal.v1.Rejection & biosignal.v1.Rejection.$Shape;

            /**
             * Decodes a Rejection message from the specified reader or buffer, length delimited.
             * @param reader Reader or buffer to decode from
             * @returns {biosignal.v1.Rejection & biosignal.v1.Rejection.$Shape} Rejection
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decodeDelimited(reader: ($protobuf.Reader|Uint8Array)): biosignal.v1.Rejection & biosignal.v1.Rejection.$Shape;

            /**
             * Verifies a Rejection message.
             * @param message Plain object to verify
             * @returns `null` if valid, otherwise the reason why it is not
             */
            static verify(message: { [k: string]: any }): (string|null);
        }

        namespace Rejection {

            /** Properties of a Rejection. */
            interface $Properties {

                /** Rejection index */
                index?: (Long|null);

                /** Rejection code */
                code?: (string|null);

                /** Rejection detail */
                detail?: (string|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a Rejection. */
            type $Shape = biosignal.v1.Rejection.$Properties;
        }

        /**
         * Properties of an IngestReply.
         * @deprecated Use biosignal.v1.IngestReply.$Properties instead.
         */
        interface IIngestReply extends biosignal.v1.IngestReply.$Properties {
        }

        /** Represents an IngestReply. */
        class IngestReply {

            /**
             * Constructs a new IngestReply.
             * @param [properties] Properties to set
             */
            constructor(properties?: biosignal.v1.IngestReply.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** IngestReply accepted. */
            accepted: number;

            /** IngestReply duplicates. */
            duplicates: number;

            /** IngestReply rejected. */
            rejected: biosignal.v1.Rejection.$Properties[];

            /** IngestReply highSeq. */
            highSeq: Long;

            /** IngestReply serverTimeNs. */
            serverTimeNs: Long;

            /** IngestReply settled. */
            settled: Long;

            /** IngestReply window. */
            window: number;

            /** IngestReply unverified. */
            unverified: number;

            /** IngestReply notices. */
            notices: string[];

            /** IngestReply nodeUrl. */
            nodeUrl: string;

            /**
             * Encodes the specified IngestReply message. Does not implicitly {@link biosignal.v1.IngestReply.verify|verify} messages.
             * @param message IngestReply message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: biosignal.v1.IngestReply.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Encodes the specified IngestReply message, length delimited. Does not implicitly {@link biosignal.v1.IngestReply.verify|verify} messages.
             * @param message IngestReply message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encodeDelimited(message: biosignal.v1.IngestReply.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes an IngestReply message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {biosignal.v1.IngestReply & biosignal.v1.IngestReply.$Shape} IngestReply
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): biosignal.v1.IngestReply & biosignal.v1.IngestReply.$Shape;

            /**
             * Decodes an IngestReply message from the specified reader or buffer, length delimited.
             * @param reader Reader or buffer to decode from
             * @returns {biosignal.v1.IngestReply & biosignal.v1.IngestReply.$Shape} IngestReply
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decodeDelimited(reader: ($protobuf.Reader|Uint8Array)): biosignal.v1.IngestReply & biosignal.v1.IngestReply.$Shape;

            /**
             * Verifies an IngestReply message.
             * @param message Plain object to verify
             * @returns `null` if valid, otherwise the reason why it is not
             */
            static verify(message: { [k: string]: any }): (string|null);
        }

        namespace IngestReply {

            /** Properties of an IngestReply. */
            interface $Properties {

                /** IngestReply accepted */
                accepted?: (number|null);

                /** IngestReply duplicates */
                duplicates?: (number|null);

                /** IngestReply rejected */
                rejected?: (biosignal.v1.Rejection.$Properties[]|null);

                /** IngestReply highSeq */
                highSeq?: (Long|null);

                /** IngestReply serverTimeNs */
                serverTimeNs?: (Long|null);

                /** IngestReply settled */
                settled?: (Long|null);

                /** IngestReply window */
                window?: (number|null);

                /** IngestReply unverified */
                unverified?: (number|null);

                /** IngestReply notices */
                notices?: (string[]|null);

                /** IngestReply nodeUrl */
                nodeUrl?: (string|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of an IngestReply. */
            type $Shape = biosignal.v1.IngestReply.$Properties;
        }

        /**
         * Properties of a LiveFrame.
         * @deprecated Use biosignal.v1.LiveFrame.$Properties instead.
         */
        interface ILiveFrame extends biosignal.v1.LiveFrame.$Properties {
        }

        /** Represents a LiveFrame. */
        class LiveFrame {

            /**
             * Constructs a new LiveFrame.
             * @param [properties] Properties to set
             */
            constructor(properties?: biosignal.v1.LiveFrame.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** LiveFrame subject. */
            subject: string;

            /** LiveFrame seq. */
            seq: Long;

            /** LiveFrame t0Ns. */
            t0Ns: Long;

            /** LiveFrame durationMs. */
            durationMs: number;

            /** LiveFrame ecg. */
            ecg: number[];

            /** LiveFrame ppg. */
            ppg: number[];

            /** LiveFrame eda. */
            eda: number[];

            /** LiveFrame temp. */
            temp: number[];

            /** LiveFrame channels. */
            channels: biosignal.v1.LiveChannel.$Properties[];

            /** LiveFrame features. */
            features: biosignal.v1.LiveFeature.$Properties[];

            /** LiveFrame droppedFrames. */
            droppedFrames: number;

            /** LiveFrame lagMs. */
            lagMs: number;

            /** LiveFrame replayed. */
            replayed: boolean;

            /** LiveFrame incomplete. */
            incomplete: boolean;

            /**
             * Encodes the specified LiveFrame message. Does not implicitly {@link biosignal.v1.LiveFrame.verify|verify} messages.
             * @param message LiveFrame message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: biosignal.v1.LiveFrame.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Encodes the specified LiveFrame message, length delimited. Does not implicitly {@link biosignal.v1.LiveFrame.verify|verify} messages.
             * @param message LiveFrame message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encodeDelimited(message: biosignal.v1.LiveFrame.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a LiveFrame message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {biosignal.v1.LiveFrame & biosignal.v1.LiveFrame.$Shape} LiveFrame
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): biosignal.v1.LiveFrame & biosignal.v1.LiveFrame.$Shape;

            /**
             * Decodes a LiveFrame message from the specified reader or buffer, length delimited.
             * @param reader Reader or buffer to decode from
             * @returns {biosignal.v1.LiveFrame & biosignal.v1.LiveFrame.$Shape} LiveFrame
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decodeDelimited(reader: ($protobuf.Reader|Uint8Array)): biosignal.v1.LiveFrame & biosignal.v1.LiveFrame.$Shape;

            /**
             * Verifies a LiveFrame message.
             * @param message Plain object to verify
             * @returns `null` if valid, otherwise the reason why it is not
             */
            static verify(message: { [k: string]: any }): (string|null);
        }

        namespace LiveFrame {

            /** Properties of a LiveFrame. */
            interface $Properties {

                /** LiveFrame subject */
                subject?: (string|null);

                /** LiveFrame seq */
                seq?: (Long|null);

                /** LiveFrame t0Ns */
                t0Ns?: (Long|null);

                /** LiveFrame durationMs */
                durationMs?: (number|null);

                /** LiveFrame ecg */
                ecg?: (number[]|null);

                /** LiveFrame ppg */
                ppg?: (number[]|null);

                /** LiveFrame eda */
                eda?: (number[]|null);

                /** LiveFrame temp */
                temp?: (number[]|null);

                /** LiveFrame channels */
                channels?: (biosignal.v1.LiveChannel.$Properties[]|null);

                /** LiveFrame features */
                features?: (biosignal.v1.LiveFeature.$Properties[]|null);

                /** LiveFrame droppedFrames */
                droppedFrames?: (number|null);

                /** LiveFrame lagMs */
                lagMs?: (number|null);

                /** LiveFrame replayed */
                replayed?: (boolean|null);

                /** LiveFrame incomplete */
                incomplete?: (boolean|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a LiveFrame. */
            type $Shape = biosignal.v1.LiveFrame.$Properties;
        }

        /**
         * Properties of a LiveChannel.
         * @deprecated Use biosignal.v1.LiveChannel.$Properties instead.
         */
        interface ILiveChannel extends biosignal.v1.LiveChannel.$Properties {
        }

        /** Represents a LiveChannel. */
        class LiveChannel {

            /**
             * Constructs a new LiveChannel.
             * @param [properties] Properties to set
             */
            constructor(properties?: biosignal.v1.LiveChannel.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** LiveChannel code. */
            code: string;

            /** LiveChannel kind. */
            kind: biosignal.v1.ChannelKind;

            /** LiveChannel unit. */
            unit: string;

            /** LiveChannel rateNanoHz. */
            rateNanoHz: Long;

            /** LiveChannel tOffsetNs. */
            tOffsetNs: Long;

            /** LiveChannel primary. */
            primary: boolean;

            /** LiveChannel samples. */
            samples: number[];

            /** LiveChannel qmaskRuns. */
            qmaskRuns: number[];

            /** LiveChannel lead. */
            lead: string;

            /** LiveChannel source. */
            source: number;

            /**
             * Encodes the specified LiveChannel message. Does not implicitly {@link biosignal.v1.LiveChannel.verify|verify} messages.
             * @param message LiveChannel message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: biosignal.v1.LiveChannel.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Encodes the specified LiveChannel message, length delimited. Does not implicitly {@link biosignal.v1.LiveChannel.verify|verify} messages.
             * @param message LiveChannel message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encodeDelimited(message: biosignal.v1.LiveChannel.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a LiveChannel message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {biosignal.v1.LiveChannel & biosignal.v1.LiveChannel.$Shape} LiveChannel
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): biosignal.v1.LiveChannel & biosignal.v1.LiveChannel.$Shape;

            /**
             * Decodes a LiveChannel message from the specified reader or buffer, length delimited.
             * @param reader Reader or buffer to decode from
             * @returns {biosignal.v1.LiveChannel & biosignal.v1.LiveChannel.$Shape} LiveChannel
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decodeDelimited(reader: ($protobuf.Reader|Uint8Array)): biosignal.v1.LiveChannel & biosignal.v1.LiveChannel.$Shape;

            /**
             * Verifies a LiveChannel message.
             * @param message Plain object to verify
             * @returns `null` if valid, otherwise the reason why it is not
             */
            static verify(message: { [k: string]: any }): (string|null);
        }

        namespace LiveChannel {

            /** Properties of a LiveChannel. */
            interface $Properties {

                /** LiveChannel code */
                code?: (string|null);

                /** LiveChannel kind */
                kind?: (biosignal.v1.ChannelKind|null);

                /** LiveChannel unit */
                unit?: (string|null);

                /** LiveChannel rateNanoHz */
                rateNanoHz?: (Long|null);

                /** LiveChannel tOffsetNs */
                tOffsetNs?: (Long|null);

                /** LiveChannel primary */
                primary?: (boolean|null);

                /** LiveChannel samples */
                samples?: (number[]|null);

                /** LiveChannel qmaskRuns */
                qmaskRuns?: (number[]|null);

                /** LiveChannel lead */
                lead?: (string|null);

                /** LiveChannel source */
                source?: (number|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a LiveChannel. */
            type $Shape = biosignal.v1.LiveChannel.$Properties;
        }

        /**
         * Properties of a LiveFeature.
         * @deprecated Use biosignal.v1.LiveFeature.$Properties instead.
         */
        interface ILiveFeature extends biosignal.v1.LiveFeature.$Properties {
        }

        /** Represents a LiveFeature. */
        class LiveFeature {

            /**
             * Constructs a new LiveFeature.
             * @param [properties] Properties to set
             */
            constructor(properties?: biosignal.v1.LiveFeature.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** LiveFeature name. */
            name: string;

            /** LiveFeature tsNs. */
            tsNs: Long;

            /** LiveFeature value. */
            value: number;

            /** LiveFeature qmask. */
            qmask: number;

            /**
             * Encodes the specified LiveFeature message. Does not implicitly {@link biosignal.v1.LiveFeature.verify|verify} messages.
             * @param message LiveFeature message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: biosignal.v1.LiveFeature.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Encodes the specified LiveFeature message, length delimited. Does not implicitly {@link biosignal.v1.LiveFeature.verify|verify} messages.
             * @param message LiveFeature message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encodeDelimited(message: biosignal.v1.LiveFeature.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a LiveFeature message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {biosignal.v1.LiveFeature & biosignal.v1.LiveFeature.$Shape} LiveFeature
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): biosignal.v1.LiveFeature & biosignal.v1.LiveFeature.$Shape;

            /**
             * Decodes a LiveFeature message from the specified reader or buffer, length delimited.
             * @param reader Reader or buffer to decode from
             * @returns {biosignal.v1.LiveFeature & biosignal.v1.LiveFeature.$Shape} LiveFeature
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decodeDelimited(reader: ($protobuf.Reader|Uint8Array)): biosignal.v1.LiveFeature & biosignal.v1.LiveFeature.$Shape;

            /**
             * Verifies a LiveFeature message.
             * @param message Plain object to verify
             * @returns `null` if valid, otherwise the reason why it is not
             */
            static verify(message: { [k: string]: any }): (string|null);
        }

        namespace LiveFeature {

            /** Properties of a LiveFeature. */
            interface $Properties {

                /** LiveFeature name */
                name?: (string|null);

                /** LiveFeature tsNs */
                tsNs?: (Long|null);

                /** LiveFeature value */
                value?: (number|null);

                /** LiveFeature qmask */
                qmask?: (number|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a LiveFeature. */
            type $Shape = biosignal.v1.LiveFeature.$Properties;
        }

        /**
         * Properties of a FeatureSeriesList.
         * @deprecated Use biosignal.v1.FeatureSeriesList.$Properties instead.
         */
        interface IFeatureSeriesList extends biosignal.v1.FeatureSeriesList.$Properties {
        }

        /** Represents a FeatureSeriesList. */
        class FeatureSeriesList {

            /**
             * Constructs a new FeatureSeriesList.
             * @param [properties] Properties to set
             */
            constructor(properties?: biosignal.v1.FeatureSeriesList.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** FeatureSeriesList series. */
            series: biosignal.v1.FeatureSeries.$Properties[];

            /**
             * Encodes the specified FeatureSeriesList message. Does not implicitly {@link biosignal.v1.FeatureSeriesList.verify|verify} messages.
             * @param message FeatureSeriesList message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: biosignal.v1.FeatureSeriesList.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Encodes the specified FeatureSeriesList message, length delimited. Does not implicitly {@link biosignal.v1.FeatureSeriesList.verify|verify} messages.
             * @param message FeatureSeriesList message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encodeDelimited(message: biosignal.v1.FeatureSeriesList.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a FeatureSeriesList message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {biosignal.v1.FeatureSeriesList & biosignal.v1.FeatureSeriesList.$Shape} FeatureSeriesList
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): biosignal.v1.FeatureSeriesList & biosignal.v1.FeatureSeriesList.$Shape;

            /**
             * Decodes a FeatureSeriesList message from the specified reader or buffer, length delimited.
             * @param reader Reader or buffer to decode from
             * @returns {biosignal.v1.FeatureSeriesList & biosignal.v1.FeatureSeriesList.$Shape} FeatureSeriesList
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decodeDelimited(reader: ($protobuf.Reader|Uint8Array)): biosignal.v1.FeatureSeriesList & biosignal.v1.FeatureSeriesList.$Shape;

            /**
             * Verifies a FeatureSeriesList message.
             * @param message Plain object to verify
             * @returns `null` if valid, otherwise the reason why it is not
             */
            static verify(message: { [k: string]: any }): (string|null);
        }

        namespace FeatureSeriesList {

            /** Properties of a FeatureSeriesList. */
            interface $Properties {

                /** FeatureSeriesList series */
                series?: (biosignal.v1.FeatureSeries.$Properties[]|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a FeatureSeriesList. */
            type $Shape = biosignal.v1.FeatureSeriesList.$Properties;
        }

        /**
         * Properties of a FeatureSeries.
         * @deprecated Use biosignal.v1.FeatureSeries.$Properties instead.
         */
        interface IFeatureSeries extends biosignal.v1.FeatureSeries.$Properties {
        }

        /** Represents a FeatureSeries. */
        class FeatureSeries {

            /**
             * Constructs a new FeatureSeries.
             * @param [properties] Properties to set
             */
            constructor(properties?: biosignal.v1.FeatureSeries.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** FeatureSeries name. */
            name: string;

            /** FeatureSeries tsNs. */
            tsNs: Long[];

            /** FeatureSeries values. */
            values: number[];

            /** FeatureSeries cadenceHz. */
            cadenceHz: number;

            /** FeatureSeries qmask. */
            qmask: number[];

            /** FeatureSeries methodCode. */
            methodCode: string;

            /**
             * Encodes the specified FeatureSeries message. Does not implicitly {@link biosignal.v1.FeatureSeries.verify|verify} messages.
             * @param message FeatureSeries message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: biosignal.v1.FeatureSeries.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Encodes the specified FeatureSeries message, length delimited. Does not implicitly {@link biosignal.v1.FeatureSeries.verify|verify} messages.
             * @param message FeatureSeries message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encodeDelimited(message: biosignal.v1.FeatureSeries.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a FeatureSeries message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {biosignal.v1.FeatureSeries & biosignal.v1.FeatureSeries.$Shape} FeatureSeries
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): biosignal.v1.FeatureSeries & biosignal.v1.FeatureSeries.$Shape;

            /**
             * Decodes a FeatureSeries message from the specified reader or buffer, length delimited.
             * @param reader Reader or buffer to decode from
             * @returns {biosignal.v1.FeatureSeries & biosignal.v1.FeatureSeries.$Shape} FeatureSeries
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decodeDelimited(reader: ($protobuf.Reader|Uint8Array)): biosignal.v1.FeatureSeries & biosignal.v1.FeatureSeries.$Shape;

            /**
             * Verifies a FeatureSeries message.
             * @param message Plain object to verify
             * @returns `null` if valid, otherwise the reason why it is not
             */
            static verify(message: { [k: string]: any }): (string|null);
        }

        namespace FeatureSeries {

            /** Properties of a FeatureSeries. */
            interface $Properties {

                /** FeatureSeries name */
                name?: (string|null);

                /** FeatureSeries tsNs */
                tsNs?: (Long[]|null);

                /** FeatureSeries values */
                values?: (number[]|null);

                /** FeatureSeries cadenceHz */
                cadenceHz?: (number|null);

                /** FeatureSeries qmask */
                qmask?: (number[]|null);

                /** FeatureSeries methodCode */
                methodCode?: (string|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a FeatureSeries. */
            type $Shape = biosignal.v1.FeatureSeries.$Properties;
        }

        /**
         * Properties of a SampleSegmentList.
         * @deprecated Use biosignal.v1.SampleSegmentList.$Properties instead.
         */
        interface ISampleSegmentList extends biosignal.v1.SampleSegmentList.$Properties {
        }

        /** Represents a SampleSegmentList. */
        class SampleSegmentList {

            /**
             * Constructs a new SampleSegmentList.
             * @param [properties] Properties to set
             */
            constructor(properties?: biosignal.v1.SampleSegmentList.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** SampleSegmentList segments. */
            segments: biosignal.v1.SampleSegment.$Properties[];

            /**
             * Encodes the specified SampleSegmentList message. Does not implicitly {@link biosignal.v1.SampleSegmentList.verify|verify} messages.
             * @param message SampleSegmentList message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: biosignal.v1.SampleSegmentList.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Encodes the specified SampleSegmentList message, length delimited. Does not implicitly {@link biosignal.v1.SampleSegmentList.verify|verify} messages.
             * @param message SampleSegmentList message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encodeDelimited(message: biosignal.v1.SampleSegmentList.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a SampleSegmentList message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {biosignal.v1.SampleSegmentList & biosignal.v1.SampleSegmentList.$Shape} SampleSegmentList
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): biosignal.v1.SampleSegmentList & biosignal.v1.SampleSegmentList.$Shape;

            /**
             * Decodes a SampleSegmentList message from the specified reader or buffer, length delimited.
             * @param reader Reader or buffer to decode from
             * @returns {biosignal.v1.SampleSegmentList & biosignal.v1.SampleSegmentList.$Shape} SampleSegmentList
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decodeDelimited(reader: ($protobuf.Reader|Uint8Array)): biosignal.v1.SampleSegmentList & biosignal.v1.SampleSegmentList.$Shape;

            /**
             * Verifies a SampleSegmentList message.
             * @param message Plain object to verify
             * @returns `null` if valid, otherwise the reason why it is not
             */
            static verify(message: { [k: string]: any }): (string|null);
        }

        namespace SampleSegmentList {

            /** Properties of a SampleSegmentList. */
            interface $Properties {

                /** SampleSegmentList segments */
                segments?: (biosignal.v1.SampleSegment.$Properties[]|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a SampleSegmentList. */
            type $Shape = biosignal.v1.SampleSegmentList.$Properties;
        }

        /**
         * Properties of a SampleSegment.
         * @deprecated Use biosignal.v1.SampleSegment.$Properties instead.
         */
        interface ISampleSegment extends biosignal.v1.SampleSegment.$Properties {
        }

        /** Represents a SampleSegment. */
        class SampleSegment {

            /**
             * Constructs a new SampleSegment.
             * @param [properties] Properties to set
             */
            constructor(properties?: biosignal.v1.SampleSegment.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** SampleSegment channel. */
            channel: string;

            /** SampleSegment kind. */
            kind: string;

            /** SampleSegment unit. */
            unit: string;

            /** SampleSegment lead. */
            lead: string;

            /** SampleSegment rateNanoHz. */
            rateNanoHz: Long;

            /** SampleSegment t0Ns. */
            t0Ns: Long;

            /** SampleSegment gain. */
            gain: number;

            /** SampleSegment baseline. */
            baseline: number;

            /** SampleSegment samplesDelta. */
            samplesDelta: number[];

            /** SampleSegment samplesFloat. */
            samplesFloat: number[];

            /** SampleSegment qmaskRuns. */
            qmaskRuns: number[];

            /**
             * Encodes the specified SampleSegment message. Does not implicitly {@link biosignal.v1.SampleSegment.verify|verify} messages.
             * @param message SampleSegment message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: biosignal.v1.SampleSegment.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Encodes the specified SampleSegment message, length delimited. Does not implicitly {@link biosignal.v1.SampleSegment.verify|verify} messages.
             * @param message SampleSegment message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encodeDelimited(message: biosignal.v1.SampleSegment.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a SampleSegment message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {biosignal.v1.SampleSegment & biosignal.v1.SampleSegment.$Shape} SampleSegment
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): biosignal.v1.SampleSegment & biosignal.v1.SampleSegment.$Shape;

            /**
             * Decodes a SampleSegment message from the specified reader or buffer, length delimited.
             * @param reader Reader or buffer to decode from
             * @returns {biosignal.v1.SampleSegment & biosignal.v1.SampleSegment.$Shape} SampleSegment
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decodeDelimited(reader: ($protobuf.Reader|Uint8Array)): biosignal.v1.SampleSegment & biosignal.v1.SampleSegment.$Shape;

            /**
             * Verifies a SampleSegment message.
             * @param message Plain object to verify
             * @returns `null` if valid, otherwise the reason why it is not
             */
            static verify(message: { [k: string]: any }): (string|null);
        }

        namespace SampleSegment {

            /** Properties of a SampleSegment. */
            interface $Properties {

                /** SampleSegment channel */
                channel?: (string|null);

                /** SampleSegment kind */
                kind?: (string|null);

                /** SampleSegment unit */
                unit?: (string|null);

                /** SampleSegment lead */
                lead?: (string|null);

                /** SampleSegment rateNanoHz */
                rateNanoHz?: (Long|null);

                /** SampleSegment t0Ns */
                t0Ns?: (Long|null);

                /** SampleSegment gain */
                gain?: (number|null);

                /** SampleSegment baseline */
                baseline?: (number|null);

                /** SampleSegment samplesDelta */
                samplesDelta?: (number[]|null);

                /** SampleSegment samplesFloat */
                samplesFloat?: (number[]|null);

                /** SampleSegment qmaskRuns */
                qmaskRuns?: (number[]|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a SampleSegment. */
            type $Shape = biosignal.v1.SampleSegment.$Properties;
        }

        /**
         * Properties of a ChannelOverviewList.
         * @deprecated Use biosignal.v1.ChannelOverviewList.$Properties instead.
         */
        interface IChannelOverviewList extends biosignal.v1.ChannelOverviewList.$Properties {
        }

        /** Represents a ChannelOverviewList. */
        class ChannelOverviewList {

            /**
             * Constructs a new ChannelOverviewList.
             * @param [properties] Properties to set
             */
            constructor(properties?: biosignal.v1.ChannelOverviewList.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** ChannelOverviewList channels. */
            channels: biosignal.v1.ChannelOverview.$Properties[];

            /**
             * Encodes the specified ChannelOverviewList message. Does not implicitly {@link biosignal.v1.ChannelOverviewList.verify|verify} messages.
             * @param message ChannelOverviewList message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: biosignal.v1.ChannelOverviewList.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Encodes the specified ChannelOverviewList message, length delimited. Does not implicitly {@link biosignal.v1.ChannelOverviewList.verify|verify} messages.
             * @param message ChannelOverviewList message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encodeDelimited(message: biosignal.v1.ChannelOverviewList.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a ChannelOverviewList message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {biosignal.v1.ChannelOverviewList & biosignal.v1.ChannelOverviewList.$Shape} ChannelOverviewList
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): biosignal.v1.ChannelOverviewList & biosignal.v1.ChannelOverviewList.$Shape;

            /**
             * Decodes a ChannelOverviewList message from the specified reader or buffer, length delimited.
             * @param reader Reader or buffer to decode from
             * @returns {biosignal.v1.ChannelOverviewList & biosignal.v1.ChannelOverviewList.$Shape} ChannelOverviewList
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decodeDelimited(reader: ($protobuf.Reader|Uint8Array)): biosignal.v1.ChannelOverviewList & biosignal.v1.ChannelOverviewList.$Shape;

            /**
             * Verifies a ChannelOverviewList message.
             * @param message Plain object to verify
             * @returns `null` if valid, otherwise the reason why it is not
             */
            static verify(message: { [k: string]: any }): (string|null);
        }

        namespace ChannelOverviewList {

            /** Properties of a ChannelOverviewList. */
            interface $Properties {

                /** ChannelOverviewList channels */
                channels?: (biosignal.v1.ChannelOverview.$Properties[]|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a ChannelOverviewList. */
            type $Shape = biosignal.v1.ChannelOverviewList.$Properties;
        }

        /**
         * Properties of a ChannelOverview.
         * @deprecated Use biosignal.v1.ChannelOverview.$Properties instead.
         */
        interface IChannelOverview extends biosignal.v1.ChannelOverview.$Properties {
        }

        /** Represents a ChannelOverview. */
        class ChannelOverview {

            /**
             * Constructs a new ChannelOverview.
             * @param [properties] Properties to set
             */
            constructor(properties?: biosignal.v1.ChannelOverview.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** ChannelOverview channel. */
            channel: string;

            /** ChannelOverview kind. */
            kind: string;

            /** ChannelOverview unit. */
            unit: string;

            /** ChannelOverview lead. */
            lead: string;

            /** ChannelOverview rateNanoHz. */
            rateNanoHz: Long;

            /** ChannelOverview t0Ns. */
            t0Ns: Long;

            /** ChannelOverview stepMs. */
            stepMs: Long;

            /** ChannelOverview min. */
            min: number[];

            /** ChannelOverview max. */
            max: number[];

            /** ChannelOverview n. */
            n: number[];

            /** ChannelOverview suspectN. */
            suspectN: number[];

            /** ChannelOverview badN. */
            badN: number[];

            /**
             * Encodes the specified ChannelOverview message. Does not implicitly {@link biosignal.v1.ChannelOverview.verify|verify} messages.
             * @param message ChannelOverview message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: biosignal.v1.ChannelOverview.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Encodes the specified ChannelOverview message, length delimited. Does not implicitly {@link biosignal.v1.ChannelOverview.verify|verify} messages.
             * @param message ChannelOverview message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encodeDelimited(message: biosignal.v1.ChannelOverview.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a ChannelOverview message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {biosignal.v1.ChannelOverview & biosignal.v1.ChannelOverview.$Shape} ChannelOverview
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): biosignal.v1.ChannelOverview & biosignal.v1.ChannelOverview.$Shape;

            /**
             * Decodes a ChannelOverview message from the specified reader or buffer, length delimited.
             * @param reader Reader or buffer to decode from
             * @returns {biosignal.v1.ChannelOverview & biosignal.v1.ChannelOverview.$Shape} ChannelOverview
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decodeDelimited(reader: ($protobuf.Reader|Uint8Array)): biosignal.v1.ChannelOverview & biosignal.v1.ChannelOverview.$Shape;

            /**
             * Verifies a ChannelOverview message.
             * @param message Plain object to verify
             * @returns `null` if valid, otherwise the reason why it is not
             */
            static verify(message: { [k: string]: any }): (string|null);
        }

        namespace ChannelOverview {

            /** Properties of a ChannelOverview. */
            interface $Properties {

                /** ChannelOverview channel */
                channel?: (string|null);

                /** ChannelOverview kind */
                kind?: (string|null);

                /** ChannelOverview unit */
                unit?: (string|null);

                /** ChannelOverview lead */
                lead?: (string|null);

                /** ChannelOverview rateNanoHz */
                rateNanoHz?: (Long|null);

                /** ChannelOverview t0Ns */
                t0Ns?: (Long|null);

                /** ChannelOverview stepMs */
                stepMs?: (Long|null);

                /** ChannelOverview min */
                min?: (number[]|null);

                /** ChannelOverview max */
                max?: (number[]|null);

                /** ChannelOverview n */
                n?: (number[]|null);

                /** ChannelOverview suspectN */
                suspectN?: (number[]|null);

                /** ChannelOverview badN */
                badN?: (number[]|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a ChannelOverview. */
            type $Shape = biosignal.v1.ChannelOverview.$Properties;
        }
    }
}
