/* warpweave's runtime: bundles opened and run from C.
 *
 * Every function that can fail returns a `ww_error`, or null where all is well. An error is freed by `ww_error_free`.
 *
 * Handles are names, not addresses: a function that is given null, or a handle that was closed, returns an error. All functions
 * may be called from any thread. One session is used by one thread at a time: a call that meets another returns the error
 * `busy`. A session may be closed while another thread runs it, whose run ends first.
 *
 * Structures begin with their size. Set it to `sizeof`, and everything else that is not used to zero.
 */

#ifndef WARPWEAVE_H
#define WARPWEAVE_H

#include <stddef.h>
#include <stdint.h>
/* The version of this interface: functions and fields are added in minor versions, and changed in major ones. */
#define WW_VERSION_MAJOR 1
#define WW_VERSION_MINOR 0


// The sort of an error. The numbers are those that the command line exits with.
typedef enum ww_status {
  // No error.
  WW_OK = 0,
  // A check has failed: an error of warpweave.
  WW_CHECK = 1,
  // The caller's input is wrong.
  WW_USAGE = 2,
  // The machine lacks something.
  WW_ENVIRONMENT = 4,
  // A device has failed. The session refuses runs until it is reset.
  WW_DEVICE_FAULT = 5,
  // Something did not end in time.
  WW_TIME_OUT = 6,
  // An element is no index of the dimension that it indexes.
  WW_INDEX = 7,
  // A bundle is not what was written.
  WW_DAMAGE = 8,
} ww_status;

// How much a message matters.
typedef enum ww_log_level {
  // How a session was opened.
  WW_LOG_NOTE = 0,
  // The message of an error that a function returns.
  WW_LOG_ERROR = 1,
} ww_log_level;

// The type of an element. The numbers are ONNX's.
typedef enum ww_type {
  // A single.
  WW_F32 = 1,
  // An unsigned byte.
  WW_U8 = 2,
  // A signed byte.
  WW_I8 = 3,
  // An unsigned integer of 16 bits.
  WW_U16 = 4,
  // A signed integer of 16 bits.
  WW_I16 = 5,
  // A signed integer of 32 bits.
  WW_I32 = 6,
  // A signed integer of 64 bits.
  WW_I64 = 7,
  // A truth value, a byte that is 0 or 1.
  WW_BOOL = 9,
  // An IEEE half.
  WW_F16 = 10,
  // A double.
  WW_F64 = 11,
  // An unsigned integer of 32 bits.
  WW_U32 = 12,
  // An unsigned integer of 64 bits.
  WW_U64 = 13,
  // A bfloat16.
  WW_BF16 = 16,
  // 8 bits: a sign, 4 exponent and 3 mantissa bits without infinities.
  WW_F8E4M3FN = 17,
  // The same without −0, whose code is NaN.
  WW_F8E4M3FNUZ = 18,
  // 8 bits: a sign, 5 exponent and 2 mantissa bits.
  WW_F8E5M2 = 19,
  // The same without infinities and without −0, whose code is NaN.
  WW_F8E5M2FNUZ = 20,
  // An unsigned integer of 4 bits, in a byte of its own.
  WW_U4 = 21,
  // A signed integer of 4 bits, in a byte of its own.
  WW_I4 = 22,
  // 4 bits of floating point, in a byte of their own.
  WW_F4E2M1 = 23,
  // 8 exponent bits.
  WW_F8E8M0 = 24,
  // An unsigned integer of 2 bits, in a byte of its own.
  WW_U2 = 25,
  // A signed integer of 2 bits, in a byte of its own.
  WW_I2 = 26,
} ww_type;

// A bundle, from `ww_bundle_open` to `ww_bundle_close`.
typedef struct ww_bundle ww_bundle;

// An error that a function has returned, until `ww_error_free`.
typedef struct ww_error ww_error;

// A pool of threads, from `ww_pool_open` to `ww_pool_close`.
typedef struct ww_pool ww_pool;

// A session, from `ww_session_open` to `ww_session_close`.
typedef struct ww_session ww_session;

// A tensor in memory.
typedef struct ww_tensor {
  // `sizeof(ww_tensor)`.
  size_t size;
  // The type of its elements, a `ww_type`.
  int32_t element;
  // How many dimensions it has.
  size_t rank;
  // The extents of its dimensions.
  const int64_t *shape;
  // Elements from one to the next along each dimension; null where they stand side by side, the last dimension innermost.
  const int64_t *strides;
  // Its elements.
  void *data;
  // How many elements it has. The library sets it, and does not read it.
  size_t elements;
} ww_tensor;

// An input, an output or a state.
typedef struct ww_port {
  // `sizeof(ww_port)`.
  size_t size;
  // The name in the model. It lives until the bundle is closed.
  const char *name;
  // The type of the elements, a `ww_type`.
  int32_t element;
  // How many dimensions there are.
  size_t rank;
  // The extents of the dimensions. They live until the bundle is closed.
  const int64_t *shape;
  // What memory that is bound to it has.
  size_t bytes;
  // Bit `n` is set where the extent of dimension `n` depends on data: the shape has the most that it can be.
  uint64_t open_dimensions;
  // 1 if an input may be left unbound.
  uint32_t has_default;
} ww_port;

// A device on which sessions can be opened.
typedef struct ww_device {
  // `sizeof(ww_device)`.
  size_t size;
  // What `ww_session_options.device` names it: `host`, or `cuda:` and a number. It lives as long as the library.
  const char *name;
  // What it is, such as the name of a GPU. It lives as long as the library.
  const char *description;
  // Major and minor compute capability of a GPU, as `10 * major + minor`; 0 of others.
  uint32_t capability;
  // Multiprocessors of a GPU, or the processors of the host.
  uint32_t processors;
} ww_device;

// Takes a message, which is the caller's no longer when it returns. It is called on the thread that calls the library.
typedef void (*ww_log_callback)(enum ww_log_level level, const char *message, void *user);

// How a session is opened. Whatever is zero is chosen by the library.
typedef struct ww_session_options {
  // `sizeof(ww_session_options)`.
  size_t size;
  // The name of the device, such as `cuda:0`; null stands for `host`. No device ever stands in for another.
  const char *device;
  // The most threads of a session on the host, the caller's among them; 0 stands for as many as there are processors.
  uint32_t threads;
  // After how many milliseconds a wait on a GPU gives up; 0 stands for ten seconds.
  uint32_t wait_limit;
  // The threads that a session on the host shares with others; null stands for threads of its own.
  const struct ww_pool *pool;
} ww_session_options;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of this interface that the library has, as `1000 * WW_VERSION_MAJOR + WW_VERSION_MINOR`.
uint32_t ww_version(void);

// The version of warpweave, such as `0.1.0`. It lives as long as the library.
const char *ww_version_text(void);

// Makes so many bytes what the next runs read an input from. They stay where they are, and as they are during runs, until other
// memory is bound or the session is closed. No bytes at null give the input its default back.
//
// # Safety
// `name` is null or a text that ends with a zero; `data` is as described.
struct ww_error *ww_session_bind_input(struct ww_session *session,
                                       const char *name,
                                       const void *data,
                                       size_t bytes);

// Makes so many bytes what the next runs write an output to. They stay where they are, and nothing else uses them during runs,
// until other memory is bound or the session is closed. No bytes at null give the output the session's memory back.
//
// # Safety
// `name` is null or a text that ends with a zero; `data` is as described.
struct ww_error *ww_session_bind_output(struct ww_session *session,
                                        const char *name,
                                        void *data,
                                        size_t bytes);

// As `ww_session_bind_input`, of a tensor whose type and shape are checked. Its elements stand side by side.
//
// # Safety
// `name` is null or a text that ends with a zero; `tensor` is null, or the structure may be read whose size it has, and what it
// points to.
struct ww_error *ww_session_bind_input_tensor(struct ww_session *session,
                                              const char *name,
                                              const struct ww_tensor *tensor);

// As `ww_session_bind_output`, of a tensor whose type and shape are checked. Its elements stand side by side.
//
// # Safety
// `name` is null or a text that ends with a zero; `tensor` is null, or the structure may be read whose size it has, and what it
// points to.
struct ww_error *ww_session_bind_output_tensor(struct ww_session *session,
                                               const char *name,
                                               const struct ww_tensor *tensor);

// Opens the bundle at a path and checks it.
//
// # Safety
// `path` is null or a text that ends with a zero; `bundle` is null or may be written.
struct ww_error *ww_bundle_open(const char *path, struct ww_bundle **bundle);

// Opens a bundle in memory and checks it. The bytes are copied.
//
// # Safety
// `data` is null, or so many bytes that stay as they are during the call; `bundle` is null or may be written.
struct ww_error *ww_bundle_open_memory(const void *data, size_t bytes, struct ww_bundle **bundle);

// Closes a bundle. Its sessions stay open.
struct ww_error *ww_bundle_close(struct ww_bundle *bundle);

// How many inputs the model has.
//
// # Safety
// `count` is null or may be written.
struct ww_error *ww_bundle_input_count(const struct ww_bundle *bundle, size_t *count);

// How many outputs the model has.
//
// # Safety
// `count` is null or may be written.
struct ww_error *ww_bundle_output_count(const struct ww_bundle *bundle, size_t *count);

// How many tensors live between runs: those that a training step changes. Of models for inference there are none.
//
// # Safety
// `count` is null or may be written.
struct ww_error *ww_bundle_state_count(const struct ww_bundle *bundle, size_t *count);

// What the input of this number is.
//
// # Safety
// `port` is null, or the structure may be written whose size it has.
struct ww_error *ww_bundle_input(const struct ww_bundle *bundle, size_t number, struct ww_port *port);

// What the output of this number is.
//
// # Safety
// `port` is null, or the structure may be written whose size it has.
struct ww_error *ww_bundle_output(const struct ww_bundle *bundle, size_t number, struct ww_port *port);

// What the state of this number is.
//
// # Safety
// `port` is null, or the structure may be written whose size it has.
struct ww_error *ww_bundle_state(const struct ww_bundle *bundle, size_t number, struct ww_port *port);

// How many devices there are. The first is the host.
//
// # Safety
// `count` is null or may be written.
struct ww_error *ww_device_count(size_t *count);

// What the device of this number is.
//
// # Safety
// `device` is null, or the structure may be written whose size it has.
struct ww_error *ww_device_at(size_t number, struct ww_device *device);

// The sort of an error; `WW_OK` of null, and of an error that was freed.
enum ww_status ww_error_code(const struct ww_error *error);

// A short name of the kind of error, which stays the same across versions, such as `bundle-damaged`. It lives as long as the
// error.
const char *ww_error_name(const struct ww_error *error);

// What is wrong. It lives as long as the error.
const char *ww_error_message(const struct ww_error *error);

// What to do; empty where that is unknown. It lives as long as the error.
const char *ww_error_help(const struct ww_error *error);

// Frees an error. Null, and an error that was freed, are left alone.
void ww_error_free(struct ww_error *error);

// Gives messages to `callback` from now on, and `user` with each; to no callback if it is null. The callback may be called from every
// thread that calls the library, from several at a time. It must not call this function.
void ww_log_to(ww_log_callback callback,
               void *user);

// Threads that several sessions on the host share, `threads` with the one that calls; 0 stands for as many as the machine has
// processors. Sessions of one pool run one after another.
//
// # Safety
// `pool` is null or may be written.
struct ww_error *ww_pool_open(uint32_t threads,
                              struct ww_pool **pool);

// Closes a pool. Its threads end when the last session that uses them is closed.
struct ww_error *ww_pool_close(struct ww_pool *pool);

// Opens a session of a bundle. Null options stand for those that are all zero.
//
// # Safety
// `options` is null, or the structure may be read whose size it has, and what it points to; `session` is null or may be
// written.
struct ww_error *ww_session_open(const struct ww_bundle *bundle,
                                 const struct ww_session_options *options,
                                 struct ww_session **session);

// Closes a session. If another thread runs it, that run ends first.
struct ww_error *ww_session_close(struct ww_session *session);

// Runs the model once on what is bound. Every input is bound or has a default. Nothing is allocated on the host, and nothing
// copied, unless the extents of outputs depend on data.
struct ww_error *ww_session_run(struct ww_session *session);

// What the last run has left of an output: in the memory that is bound to it, or else in the session's, until the next run.
//
// # Safety
// `name` is null or a text that ends with a zero; `tensor` is null, or the structure may be written whose size it has.
struct ww_error *ww_session_output(const struct ww_session *session,
                                   const char *name,
                                   struct ww_tensor *tensor);

// Makes a session run again after a run has left it in an unknown state, if the device can.
struct ww_error *ww_session_reset(struct ww_session *session);

// Makes what the last run has left of each state what the next run finds: run and advance are a step of training.
struct ww_error *ww_session_advance(struct ww_session *session);

// Copies what the next run finds of a state.
//
// # Safety
// `data` is null, or so many bytes may be written.
struct ww_error *ww_session_read_state(struct ww_session *session, size_t number, void *data, size_t bytes);

// Makes these bytes what the next run finds of a state.
//
// # Safety
// `data` is null, or so many bytes that stay as they are during the call.
struct ww_error *ww_session_write_state(struct ww_session *session, size_t number, const void *data, size_t bytes);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* WARPWEAVE_H */
