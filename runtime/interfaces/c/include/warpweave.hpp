// warpweave's runtime for C++17: the handles of `warpweave.h` closed where they go out of scope, and its errors thrown.
#ifndef WARPWEAVE_HPP
#define WARPWEAVE_HPP

#include <stdexcept>
#include <string>
#include <utility>

#include "warpweave.h"

namespace warpweave {

// An error of the library.
class Error : public std::runtime_error {
 public:
  // Takes the error and frees it.
  explicit Error(ww_error *error)
      : std::runtime_error(ww_error_message(error)),
        code_(ww_error_code(error)),
        name_(ww_error_name(error)),
        help_(ww_error_help(error)) {
    ww_error_free(error);
  }

  ww_status code() const noexcept { return code_; }
  // A short name that stays the same across versions.
  const std::string &name() const noexcept { return name_; }
  // What to do; empty where that is unknown.
  const std::string &help() const noexcept { return help_; }

 private:
  ww_status code_;
  std::string name_, help_;
};

// Throws an error, if there is one.
inline void check(ww_error *error) {
  if (error != nullptr) throw Error(error);
}

namespace detail {

// A handle that is closed once.
template <typename Handle, ww_error *(*close)(Handle *)>
class Owned {
 public:
  Owned() = default;
  Owned(Owned &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned &operator=(Owned &&other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_ != nullptr) ww_error_free(close(handle_));
  }
  Handle *get() const noexcept { return handle_; }

 protected:
  Handle *handle_ = nullptr;
};

}  // namespace detail

// Threads that sessions on the host share.
class Pool : public detail::Owned<ww_pool, ww_pool_close> {
 public:
  explicit Pool(uint32_t threads = 0) { check(ww_pool_open(threads, &handle_)); }
};

// An opened bundle.
class Bundle : public detail::Owned<ww_bundle, ww_bundle_close> {
 public:
  explicit Bundle(const std::string &path) { check(ww_bundle_open(path.c_str(), &handle_)); }
  Bundle(const void *data, size_t bytes) { check(ww_bundle_open_memory(data, bytes, &handle_)); }

  size_t inputs() const { return count(ww_bundle_input_count); }
  size_t outputs() const { return count(ww_bundle_output_count); }
  size_t states() const { return count(ww_bundle_state_count); }
  ww_port input(size_t number) const { return port(ww_bundle_input, number); }
  ww_port output(size_t number) const { return port(ww_bundle_output, number); }
  ww_port state(size_t number) const { return port(ww_bundle_state, number); }

 private:
  size_t count(ww_error *(*of)(const ww_bundle *, size_t *)) const {
    size_t count = 0;
    check(of(handle_, &count));
    return count;
  }
  ww_port port(ww_error *(*of)(const ww_bundle *, size_t, ww_port *), size_t number) const {
    ww_port port{};
    port.size = sizeof port;
    check(of(handle_, number, &port));
    return port;
  }
};

// A session of a bundle.
class Session : public detail::Owned<ww_session, ww_session_close> {
 public:
  explicit Session(const Bundle &bundle) { check(ww_session_open(bundle.get(), nullptr, &handle_)); }
  Session(const Bundle &bundle, const ww_session_options &options) {
    check(ww_session_open(bundle.get(), &options, &handle_));
  }

  void bind_input(const std::string &name, const void *data, size_t bytes) {
    check(ww_session_bind_input(handle_, name.c_str(), data, bytes));
  }
  void bind_output(const std::string &name, void *data, size_t bytes) {
    check(ww_session_bind_output(handle_, name.c_str(), data, bytes));
  }
  void run() { check(ww_session_run(handle_)); }
  void advance() { check(ww_session_advance(handle_)); }
  void reset() { check(ww_session_reset(handle_)); }
  // What the last run has left of an output, until the next one.
  ww_tensor output(const std::string &name) const {
    ww_tensor tensor{};
    tensor.size = sizeof tensor;
    check(ww_session_output(handle_, name.c_str(), &tensor));
    return tensor;
  }
};

}  // namespace warpweave

#endif
