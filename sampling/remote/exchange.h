#pragma once
// One HTTP request for a range of bytes, and its result.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "sampling/remote/location.h"

namespace flowtrain {

/// Identifies one state of a remote file.
struct RemoteVersion {
  std::uint64_t size_bytes = 0;
  std::string tag;  ///< the ETag, or else Last-Modified; empty if the server has neither
  bool operator==(const RemoteVersion&) const = default;
};

/// The reason why a request did not fetch all bytes.
struct RemoteFailure {
  std::string message, hint;
  bool passing = false;                   ///< it may work when repeated
  std::chrono::seconds wait_at_least{0};  ///< the server's Retry-After
};

/// Requests into.size() bytes from `first` on once; redirects are followed. Bytes are written to `into` as they arrive,
/// so the first received() of them stay valid after a failure.
class Exchange {
 public:
  /// `expected` (may be null) is the version that the file must have. All must outlive this.
  Exchange(const RemoteLocation& from, std::uint64_t first, std::span<std::byte> into, const RemoteVersion* expected)
      : from_(from), first_(first), into_(into), expected_(expected) {}
  Exchange(const Exchange&) = delete;

  /// Makes the request on a CURL easy handle, whose options are overwritten. Gives up on a server that does not accept
  /// the connection, or sends less than a kilobyte a second, for `timeout`; within a second once `stop` is requested.
  std::optional<RemoteFailure> run(void* handle, std::chrono::seconds timeout, const std::stop_token& stop);
  /// The two halves of run(), for callers with several handles at work at once: prepare() sets the options; finish(),
  /// given the CURLcode, says whether the request failed.
  void prepare(void* handle, std::chrono::seconds timeout);
  std::optional<RemoteFailure> finish(int code);

  std::size_t received() const { return received_; }
  /// Returns the file's version according to this answer.
  const RemoteVersion& version() const { return version_; }

 private:
  static std::size_t on_body(char* bytes, std::size_t size, std::size_t count, void* self);
  std::string_view header(const char* name) const;
  int status() const;
  bool take_body(std::string_view bytes);
  void check_head();
  void refuse(const std::string& message, const std::string& hint = {});
  RemoteFailure refusal() const;

  const RemoteLocation& from_;
  std::uint64_t first_;
  std::span<std::byte> into_;
  const RemoteVersion* expected_;

  void* handle_ = nullptr;  ///< handle of CURL; set by prepare()
  std::string error_body_;  ///< beginning of a body that came instead of the bytes
  bool head_checked_ = false;
  std::size_t received_ = 0;
  RemoteVersion version_;
  std::shared_ptr<void> sent_headers_;      ///< lives as long as the request
  std::array<char, 256> what_failed_ = {};  ///< error text of CURL
  std::optional<RemoteFailure> failure_;
};

}  // namespace flowtrain
