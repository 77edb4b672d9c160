#include "sampling/remote/exchange.h"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <memory>

namespace flowtrain {
namespace {

constexpr std::size_t max_error_body_bytes = 16 << 10;
/// SHA-256 of an empty body. S3 demands it of signed requests; CURL before 8 does not send it by itself.
constexpr const char* no_body =
    "x-amz-content-sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr long max_redirects = 5, least_bytes_per_s = 1024, receive_buffer_bytes = 256 << 10;

/// What may be over when asked again: the network's faults, and servers that restart.
bool is_passing(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR: return true;
    default: return false;
  }
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return std::tolower(c); });
  return result;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

/// Content-Range: "bytes FIRST-LAST/TOTAL"; the total where it is the range asked for.
std::optional<std::uint64_t> total_of(std::string_view range, std::uint64_t first, std::uint64_t last) {
  const auto wanted = "bytes " + std::to_string(first) + '-' + std::to_string(last) + '/';
  if (!range.starts_with(wanted)) return {};
  range.remove_prefix(wanted.size());
  std::uint64_t total = 0;
  const auto result = std::from_chars(range.data(), range.data() + range.size(), total);
  if (result.ec != std::errc() || result.ptr != range.data() + range.size() || total <= last) return {};
  return total;
}

/// What stands in S3's error document between <Code> and </Code>; anything but a plain word is left out.
std::string s3_code(std::string_view body) {
  constexpr std::string_view opening = "<Code>";
  const auto begin = body.find(opening), end = body.find("</Code>");
  if (begin == body.npos || end == body.npos || end < begin + opening.size()) return {};
  const auto code = body.substr(begin + opening.size(), end - begin - opening.size());
  const bool word = std::all_of(code.begin(), code.end(), [](unsigned char c) { return std::isalnum(c) != 0; });
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

std::string hint_for(int status, const std::string& code, const Location& from) {
  if (status == 404 || status == 410) return "check the name and the range of shards";
  if (code == "ExpiredToken" || code == "InvalidToken" || code == "TokenRefreshRequired")
    return "get new credentials and set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN";
  if (code == "RequestTimeTooSkewed") return "set this machine's clock";
  if (code == "PermanentRedirect" || code == "AuthorizationHeaderMalformed" || (from.s3 && status == 301))
    return "set AWS_REGION to the bucket's region";
  if (from.s3 && (status == 401 || status == 403))
    return from.key_id.empty() ? "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or make the bucket readable to all"
                               : "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and the bucket's policy";
  if (status == 401 || status == 403) return "check the permissions on the server, or the login or token in the URL";
  return {};
}

struct FreeHeaders {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Headers = std::unique_ptr<curl_slist, FreeHeaders>;

void add(Headers& headers, const std::string& line) {
  auto* longer = curl_slist_append(headers.get(), line.c_str());
  if (!longer) throw std::bad_alloc();
  (void)headers.release();
  headers.reset(longer);
}

/// CURL asks at least once a second whether to go on.
int stopped(void* stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::stop_token*>(stop)->stop_requested() ? 1 : 0;
}

}  // namespace

std::optional<RemoteFailure> Exchange::run(void* handle, std::chrono::seconds timeout, const std::stop_token& stop) {
  prepare(handle, timeout);
  curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, &stopped);
  curl_easy_setopt(handle, CURLOPT_XFERINFODATA, &stop);
  return finish(handle, curl_easy_perform(handle));
}

void Exchange::prepare(void* handle, std::chrono::seconds timeout) {
  static_assert(sizeof(what_failed_) >= CURL_ERROR_SIZE);
  auto* const curl = handle;
  const auto range = std::to_string(first_) + '-' + std::to_string(first_ + into_.size() - 1);
  const auto timeout_s = static_cast<long>(timeout.count());
  const auto provider = "aws:amz:" + from_.region + ":s3";
  Headers headers;
  add(headers, "Accept-Encoding: identity");  // a range of compressed bytes is of no use
  if (!from_.key_id.empty()) add(headers, no_body);
  if (!from_.token.empty()) add(headers, "x-amz-security-token: " + from_.token);

  curl_easy_reset(curl);  // keeps the connections
  curl_easy_setopt(curl, CURLOPT_URL, from_.url.c_str());
  curl_easy_setopt(curl, CURLOPT_RANGE, range.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "flowtrain");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, max_redirects);
  // A handle has one request at a time on a connection of its own: HTTP/2 has nothing to add.
  curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, timeout_s);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, least_bytes_per_s);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, timeout_s);
  curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, receive_buffer_bytes);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, what_failed_.data());
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &Exchange::on_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &Exchange::on_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, this);
  if (!from_.key_id.empty()) {
    curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, provider.c_str());
    curl_easy_setopt(curl, CURLOPT_USERNAME, from_.key_id.c_str());
    curl_easy_setopt(curl, CURLOPT_PASSWORD, from_.secret.c_str());
  }
  sent_headers_ = std::move(headers);
}

std::optional<RemoteFailure> Exchange::finish(void* handle, int code) {
  curl_off_t retry_after_s = 0;
  curl_easy_getinfo(handle, CURLINFO_RETRY_AFTER, &retry_after_s);
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, nullptr);  // the handle lives longer

  if (failure_) return failure_;
  if (code == CURLE_TOO_MANY_REDIRECTS)
    return RemoteFailure{"redirected more than " + std::to_string(max_redirects) + " times",
                         "name the place that it leads to in the end, or mend the server"};
  // A redirect to anything but http(s) says so itself.
  if (status_ >= 300 && code != CURLE_UNSUPPORTED_PROTOCOL) return refusal(static_cast<long>(retry_after_s));
  if (received_ == into_.size()) return {};  // whatever became of the connection after it
  if (code != CURLE_OK)
    return RemoteFailure{what_failed_[0] ? what_failed_.data() : curl_easy_strerror(static_cast<CURLcode>(code)), "",
                         is_passing(static_cast<CURLcode>(code))};
  check_head();  // an answer without a body was not looked at yet
  if (failure_) return failure_;
  const auto count = std::to_string(received_) + " of " + std::to_string(into_.size()) + " bytes";
  return RemoteFailure{"the server sent " + count, "", true};
}

std::size_t Exchange::on_header(char* bytes, std::size_t, std::size_t count, void* self) {
  static_cast<Exchange*>(self)->take_header({bytes, count});
  return count;
}

std::size_t Exchange::on_body(char* bytes, std::size_t, std::size_t count, void* self) {
  return static_cast<Exchange*>(self)->take_body({bytes, count}) ? count : 0;
}

void Exchange::take_header(std::string_view line) {
  if (line.starts_with("HTTP/")) {  // an answer begins; of those to redirects nothing stays
    status_ = 0;
    const auto space = std::min(line.find(' '), line.size() - 1);
    std::from_chars(line.data() + space + 1, line.data() + line.size(), status_);
    for (auto* field : {&range_, &etag_, &modified_, &encoding_, &error_body_}) field->clear();
    return;
  }
  const auto colon = line.find(':');
  if (colon == line.npos) return;
  const auto name = lower(line.substr(0, colon));
  const auto value = trimmed(line.substr(colon + 1));
  if (name == "content-range") range_ = value;
  if (name == "etag") etag_ = value;
  if (name == "last-modified") modified_ = value;
  if (name == "content-encoding") encoding_ = value;
}

bool Exchange::take_body(std::string_view bytes) {
  if (status_ >= 300) {
    error_body_ += bytes.substr(0, max_error_body_bytes - std::min(max_error_body_bytes, error_body_.size()));
    return error_body_.size() < max_error_body_bytes;
  }
  check_head();
  if (failure_) return false;
  if (bytes.size() > into_.size() - received_) {
    refuse("the server sends more bytes than were asked for");
    return false;
  }
  std::memcpy(into_.data() + received_, bytes.data(), bytes.size());
  received_ += bytes.size();
  return true;
}

/// Whether what comes is the range, of the same file as before. A wrong answer must not be mixed with right bytes.
void Exchange::check_head() {
  if (head_checked_) return;
  head_checked_ = true;
  if (status_ != 206)
    return refuse("the server answers a request for a range with status " + std::to_string(status_) +
                      (status_ == 200 ? ": it sends whole files only" : ""),
                  "shards are read in place: use a server that knows ranges (nginx, Apache, S3), or copy them here");
  if (range_.empty()) return refuse("the server sends a range without Content-Range");
  const auto total = total_of(range_, first_, first_ + into_.size() - 1);
  if (!total && expected_ && range_.ends_with('/' + std::to_string(expected_->size_bytes)))
    return refuse("asked for bytes from " + std::to_string(first_) + " on, the server sends others: " + range_);
  if (!encoding_.empty() && lower(encoding_) != "identity")
    return refuse("the server compresses what it sends (" + encoding_ + ")", "switch that off for .tar files");
  version_ = {total.value_or(0), etag_.empty() ? modified_ : etag_};
  if (expected_ && version_ != *expected_)
    return refuse("the file was changed on the server since the start", "start again, and let it stay as it is");
  if (!total) refuse("asked for the first byte, the server sends others: " + range_);
}

void Exchange::refuse(const std::string& message, const std::string& hint) { failure_ = RemoteFailure{message, hint}; }

/// What a status of 300 and more says.
RemoteFailure Exchange::refusal(long retry_after_s) const {
  const auto code = s3_code(error_body_);
  if (status_ == 416)
    return expected_ ? RemoteFailure{"the file was cut on the server since the start", "start again"}
                     : RemoteFailure{"the file is empty", "get or write the archive again"};
  return {.message = "the server answers with status " + std::to_string(status_) +
                     (code.empty() ? meaning_of(status_) : " (" + code + ")"),
          .hint = hint_for(status_, code, from_),
          .passing = status_ >= 500 || status_ == 429 || status_ == 408,
          .wait_at_least = std::chrono::seconds(std::max(retry_after_s, 0L))};
}

}  // namespace flowtrain
