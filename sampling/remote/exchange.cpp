#include "sampling/remote/exchange.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <memory>

#include "sampling/core/parse.h"
#include "sampling/remote/libcurl.h"

namespace flowtrain {
namespace {

constexpr std::size_t max_error_body_bytes = 16 << 10;
/// The SHA-256 of an empty body. S3 requires it in signed requests; CURL before 8 does not send it by itself.
constexpr const char* no_body =
    "x-amz-content-sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr long max_redirects = 5, least_bytes_per_s = 1024, receive_buffer_bytes = 256 << 10;

/// The errors that may vanish when the request is repeated: faults of the network, and servers that restart.
constexpr CURLcode passing[] = {CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT,
                                CURLE_PARTIAL_FILE,          CURLE_OPERATION_TIMEDOUT,   CURLE_SSL_CONNECT_ERROR,
                                CURLE_GOT_NOTHING,           CURLE_SEND_ERROR,           CURLE_RECV_ERROR};

/// Parses Content-Range, "bytes FIRST-LAST/TOTAL"; returns the total if the range is the requested one.
std::optional<std::uint64_t> total_of(std::string_view range, std::uint64_t first, std::uint64_t last) {
  const auto wanted = "bytes " + std::to_string(first) + '-' + std::to_string(last) + '/';
  if (!range.starts_with(wanted)) return {};
  range.remove_prefix(wanted.size());
  const auto total = parse_number<std::uint64_t>(range);
  return total && *total > last ? total : std::nullopt;
}

/// Returns the text between <Code> and </Code> of S3's error document if it is a plain word, else nothing.
std::string s3_code(std::string_view body) {
  constexpr std::string_view opening = "<Code>";
  const auto begin = body.find(opening), end = body.find("</Code>");
  if (begin == body.npos || end == body.npos || end < begin + opening.size()) return {};
  const auto code = body.substr(begin + opening.size(), end - begin - opening.size());
  const bool word = std::ranges::all_of(code, [](unsigned char c) { return std::isalnum(c) != 0; });
  return word && code.size() <= 64 ? std::string(code) : std::string();
}

std::string meaning_of(int status) {
  switch (status) {
    case 401: return " (a login is needed)";
    case 403: return " (access denied)";
    case 404: return " (no such file)";
    case 410: return " (no such file any more)";
    case 429: return " (too many requests)";
    case 503: return " (unavailable)";
    default: return status >= 500 ? " (server error)" : "";
  }
}

std::string hint_for(int status, const std::string& code, const RemoteLocation& from) {
  if (status == 404 || status == 410) return "check the name and the range of shards";
  if (code == "ExpiredToken" || code == "InvalidToken" || code == "TokenRefreshRequired")
    return "get new credentials and set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN";
  if (code == "RequestTimeTooSkewed") return "correct this machine's clock";
  if (code == "PermanentRedirect" || code == "AuthorizationHeaderMalformed" || (from.s3 && status == 301))
    return "set AWS_REGION to the bucket's region";
  if (from.s3 && (status == 401 || status == 403))
    return from.key_id.empty() ? "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or make the bucket public"
                               : "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and the bucket's policy";
  if (status == 401 || status == 403) return "check the permissions on the server, or the login or token in the URL";
  return {};
}

struct FreeHeaders {
  void operator()(curl_slist* list) const { libcurl().slist_free_all(list); }
};
using Headers = std::unique_ptr<curl_slist, FreeHeaders>;

void add(Headers& headers, const std::string& line) {
  auto* longer = libcurl().slist_append(headers.get(), line.c_str());
  if (!longer) throw std::bad_alloc();
  (void)headers.release();
  headers.reset(longer);
}

/// Tells CURL whether to stop; it asks at least once a second.
int stopped(void* stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::stop_token*>(stop)->stop_requested() ? 1 : 0;
}

}  // namespace

std::optional<RemoteFailure> Exchange::run(void* handle, std::chrono::seconds timeout, const std::stop_token& stop) {
  prepare(handle, timeout);
  libcurl().easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
  libcurl().easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, &stopped);
  libcurl().easy_setopt(handle, CURLOPT_XFERINFODATA, &stop);
  return finish(libcurl().easy_perform(handle));
}

void Exchange::prepare(void* handle, std::chrono::seconds timeout) {
  static_assert(sizeof(what_failed_) >= CURL_ERROR_SIZE);
  auto* const curl = handle_ = handle;
  const auto range = std::to_string(first_) + '-' + std::to_string(first_ + into_.size() - 1);
  const auto timeout_s = static_cast<long>(timeout.count());
  const auto provider = "aws:amz:" + from_.region + ":s3";
  Headers headers;
  add(headers, "Accept-Encoding: identity");  // a range of compressed bytes is useless
  if (!from_.key_id.empty()) add(headers, no_body);
  if (!from_.token.empty()) add(headers, "x-amz-security-token: " + from_.token);

  const auto set = [curl](CURLoption option, auto value) { libcurl().easy_setopt(curl, option, value); };
  libcurl().easy_reset(curl);  // keeps the connections
  set(CURLOPT_URL, from_.url.c_str());
  set(CURLOPT_RANGE, range.c_str());
  set(CURLOPT_HTTPHEADER, headers.get());
  set(CURLOPT_USERAGENT, "flowtrain");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 1L);
  set(CURLOPT_MAXREDIRS, max_redirects);
  // HTTP/1.1 is enough: a handle has one request at a time on a connection of its own.
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_CONNECTTIMEOUT, timeout_s);
  set(CURLOPT_LOW_SPEED_LIMIT, least_bytes_per_s);
  set(CURLOPT_LOW_SPEED_TIME, timeout_s);
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_BUFFERSIZE, receive_buffer_bytes);
  set(CURLOPT_ERRORBUFFER, what_failed_.data());
  set(CURLOPT_WRITEFUNCTION, &Exchange::on_body);
  set(CURLOPT_WRITEDATA, this);
  if (!from_.key_id.empty()) {
    set(CURLOPT_AWS_SIGV4, provider.c_str());
    set(CURLOPT_USERNAME, from_.key_id.c_str());
    set(CURLOPT_PASSWORD, from_.secret.c_str());
  }
  sent_headers_ = std::move(headers);
}

std::optional<RemoteFailure> Exchange::finish(int code) {
  libcurl().easy_setopt(handle_, CURLOPT_ERRORBUFFER, nullptr);  // the handle lives longer

  if (failure_) return failure_;
  if (code == CURLE_TOO_MANY_REDIRECTS)
    return RemoteFailure{"the server redirects more than " + std::to_string(max_redirects) + " times",
                         "name the final address, or repair the server"};
  long proxy_answer = 0;
  libcurl().easy_getinfo(handle_, CURLINFO_HTTP_CONNECTCODE, &proxy_answer);
  if (proxy_answer >= 300)
    return RemoteFailure{"the proxy answers with status " + std::to_string(proxy_answer),
                         "check http_proxy, https_proxy and no_proxy"};
  // A redirect to anything but http(s) has its own message.
  if (status() >= 300 && code != CURLE_UNSUPPORTED_PROTOCOL) return refusal();
  if (received_ == into_.size()) return {};  // later failures of the connection do not matter
  if (code != CURLE_OK)
    return RemoteFailure{what_failed_[0] ? what_failed_.data() : libcurl().easy_strerror(static_cast<CURLcode>(code)),
                         "", std::ranges::find(passing, code) != std::end(passing)};
  check_head();  // an answer without a body was not checked yet
  if (failure_) return failure_;
  const auto count = std::to_string(received_) + " of " + std::to_string(into_.size()) + " bytes";
  return RemoteFailure{"the server sent " + count, "", true};
}

std::size_t Exchange::on_body(char* bytes, std::size_t, std::size_t count, void* self) {
  return static_cast<Exchange*>(self)->take_body({bytes, count}) ? count : 0;
}

/// Returns a header of the latest answer; empty if it has none of this name.
std::string_view Exchange::header(const char* name) const {
  curl_header* found = nullptr;
  const bool there = libcurl().easy_header(handle_, name, 0, CURLH_HEADER, -1, &found) == CURLHE_OK;
  return there ? std::string_view(found->value) : std::string_view();
}

int Exchange::status() const {
  long status = 0;
  libcurl().easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &status);
  return static_cast<int>(status);
}

bool Exchange::take_body(std::string_view bytes) {
  if (status() >= 300) {
    error_body_ += bytes.substr(0, max_error_body_bytes - std::min(max_error_body_bytes, error_body_.size()));
    return error_body_.size() < max_error_body_bytes;
  }
  check_head();
  if (failure_) return false;
  if (bytes.size() > into_.size() - received_) {
    refuse("the server sends more bytes than were requested");
    return false;
  }
  std::memcpy(into_.data() + received_, bytes.data(), bytes.size());
  received_ += bytes.size();
  return true;
}

/// Checks that the answer is the range, of the same file as before: wrong bytes must not be mixed with right ones.
void Exchange::check_head() {
  if (head_checked_) return;
  head_checked_ = true;
  if (const int answer = status(); answer != 206)
    return refuse("the server answers a request for a range with status " + std::to_string(answer) +
                      (answer == 200 ? ": it sends whole files only" : ""),
                  "use a server that supports ranges (nginx, Apache, S3), or copy the shards to this machine");
  const std::string range(header("Content-Range")), encoding(header("Content-Encoding"));
  if (range.empty()) return refuse("the server sends a range without Content-Range");
  const auto total = total_of(range, first_, first_ + into_.size() - 1);
  if (!total && expected_ && range.ends_with('/' + std::to_string(expected_->size_bytes)))
    return refuse("the server was asked for bytes from " + std::to_string(first_) + " on, but sends others: " + range);
  if (!encoding.empty() && lower_case(encoding) != "identity")
    return refuse("the server compresses its answers (" + encoding + ")", "switch compression off for .tar files");
  const auto tag = header("ETag");
  version_ = {total.value_or(0), std::string(tag.empty() ? header("Last-Modified") : tag)};
  if (expected_ && version_ != *expected_)
    return refuse("the file was changed on the server since the start", "start again, and do not change the file");
  if (!total) refuse("the server was asked for the first byte, but sends others: " + range);
}

void Exchange::refuse(const std::string& message, const std::string& hint) { failure_ = RemoteFailure{message, hint}; }

/// Returns the failure for a status of 300 and more.
RemoteFailure Exchange::refusal() const {
  const int answer = status();
  if (answer == 416)
    return expected_ ? RemoteFailure{"the file was cut on the server since the start", "start again"}
                     : RemoteFailure{"the file is empty", "get or write the archive again"};
  const auto code = s3_code(error_body_);
  curl_off_t retry_after_s = 0;
  libcurl().easy_getinfo(handle_, CURLINFO_RETRY_AFTER, &retry_after_s);
  return {.message = "the server answers with status " + std::to_string(answer) +
                     (code.empty() ? meaning_of(answer) : " (" + code + ")"),
          .hint = hint_for(answer, code, from_),
          .passing = answer >= 500 || answer == 429 || answer == 408,
          .wait_at_least = std::chrono::seconds(std::max<curl_off_t>(retry_after_s, 0))};
}

}  // namespace flowtrain
