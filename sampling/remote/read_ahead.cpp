#include "sampling/remote/read_ahead.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "sampling/core/reads_until.h"
#include "sampling/remote/libcurl.h"

namespace flowtrain {
namespace {

using Clock = std::chrono::steady_clock;

/// The size of the largest gap that is fetched along: a request costs about as much as this many bytes more.
constexpr std::uint64_t most_gap_bytes = 32 << 10;
/// The size up to which pieces are joined; more would only make the first of them wait.
constexpr std::uint64_t most_joined_bytes = 1 << 20;
/// The limit of fetched bytes that nobody has taken; beyond it, requests fetch no neighbours.
constexpr std::uint64_t most_held_bytes = 256 << 20;

}  // namespace

/// A request for a piece or several, and the gaps between them.
struct ReadAhead::Request {
  Request(File from, std::uint64_t begin, std::uint64_t size)
      : file(std::move(from)),
        first(begin),
        size_bytes(size),
        bytes(std::make_unique_for_overwrite<std::byte[]>(size)),
        exchange(file->location, first, {bytes.get(), size}, &file->version) {}

  const File file;
  const std::uint64_t first, size_bytes;
  const std::unique_ptr<std::byte[]> bytes;
  Exchange exchange;
  // The mutex of its ReadAhead guards these, which no annotation can express here.
  std::vector<Place> places = {};  ///< places of its pieces
  std::size_t users = 0;           ///< number of pieces that hold it
  bool done = false;
};

ReadAhead::ReadAhead(std::size_t requests, std::chrono::seconds timeout, std::chrono::milliseconds first_delay,
                     Outages& outages)
    : most_requests_(requests), timeout_(timeout), first_delay_(first_delay), outages_(outages), delay_(first_delay) {
  multi_ = libcurl().multi_init();
  if (!multi_) throw std::bad_alloc();
  libcurl().multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(requests));
  thread_ = std::jthread([this] {
    pthread_setname_np(pthread_self(), "ft-fetch");
    loop();
  });
}

ReadAhead::~ReadAhead() {
  {
    const MutexLock lock(mutex_);
    over_ = true;
  }
  libcurl().multi_wakeup(multi_);
  thread_.join();
  for (const auto& [handle, request] : running_) {
    libcurl().multi_remove_handle(multi_, handle);
    libcurl().easy_cleanup(handle);
  }
  for (auto* const handle : idle_) libcurl().easy_cleanup(handle);
  libcurl().multi_cleanup(multi_);
}

void ReadAhead::expect(const File& file, std::uint64_t offset, std::uint64_t size_bytes, bool once) {
  if (size_bytes == 0) return;
  const MutexLock lock(mutex_);
  const auto [piece, is_new] = pieces_.try_emplace({file, offset}, Piece{size_bytes});
  if (!is_new && !once) ++piece->second.wanted;
}

void ReadAhead::begin(const File& file, std::uint64_t offset) {
  const MutexLock lock(mutex_);
  const auto piece = pieces_.find({file, offset});
  if (piece == pieces_.end() || piece->second.request) return;
  piece->second.begun = true;
  begun_.push_back(piece->first);
  if (std::exchange(asleep_, false)) libcurl().multi_wakeup(multi_);
}

bool ReadAhead::take(const File& file, std::uint64_t offset, std::span<std::byte> into) {
  std::shared_ptr<Request> request;
  {
    MutexLock lock(mutex_);
    const auto piece = pieces_.find({file, offset});
    if (piece == pieces_.end()) return false;
    const auto is_ready = [&] {
      const auto& [size, wanted, begun, brought_by] = piece->second;
      return brought_by ? brought_by->done : !begun;
    };
    const bool ready = changed_.wait(lock, ReadsUntil::token(), is_ready);
    if (ready && piece->second.size_bytes == into.size()) request = piece->second.request;
    let_go(piece);
  }
  if (!request) return false;
  std::memcpy(into.data(), request->bytes.get() + (offset - request->first), into.size());
  return true;
}

void ReadAhead::forget(const File& file, std::uint64_t offset) {
  const MutexLock lock(mutex_);
  if (const auto piece = pieces_.find({file, offset}); piece != pieces_.end()) let_go(piece);
}

/// Counts one expected take less; removes the piece after the last one.
void ReadAhead::let_go(Pieces::iterator piece) {
  if (--piece->second.wanted > 0) return;
  const auto request = std::move(piece->second.request);
  pieces_.erase(piece);
  if (request && --request->users == 0) held_bytes_ -= request->size_bytes;
}

void ReadAhead::loop() {
  for (;;) {
    start_requests();
    int ignored = 0;
    libcurl().multi_perform(multi_, &ignored);
    finish_requests();
    int wait_ms = 0;
    {
      const MutexLock lock(mutex_);
      if (over_) return;
      wait_ms = idle_ms();
      asleep_ = wait_ms > 0;
    }
    if (wait_ms > 0) libcurl().multi_poll(multi_, nullptr, 0, wait_ms, nullptr);
    const MutexLock lock(mutex_);
    asleep_ = false;
  }
}

/// Returns how long nothing needs to be started unless something changes.
int ReadAhead::idle_ms() const {
  constexpr int long_ms = 1000;
  if (begun_.empty() || running_.size() >= most_requests_) return long_ms;
  const auto pause = std::chrono::ceil<std::chrono::milliseconds>(not_before_ - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(pause, 0, long_ms));
}

void ReadAhead::start_requests() {
  if (Clock::now() < not_before_) return;
  while (running_.size() < most_requests_) {
    auto request = next_request();
    if (!request) return;
    auto* const handle = idle_.empty() ? libcurl().easy_init() : idle_.back();
    if (!handle) throw std::bad_alloc();
    if (!idle_.empty()) idle_.pop_back();
    request->exchange.prepare(handle, timeout_);
    running_[handle] = std::move(request);
    libcurl().multi_add_handle(multi_, handle);
  }
}

/// Returns nothing if all that is begun is already fetched.
std::shared_ptr<ReadAhead::Request> ReadAhead::next_request() {
  const MutexLock lock(mutex_);
  while (!begun_.empty()) {
    const auto piece = pieces_.find(begun_.front());
    begun_.pop_front();
    if (piece != pieces_.end() && !piece->second.request) return request_for(piece);
  }
  return nullptr;
}

/// Makes a request for the piece and its neighbours that nobody fetches yet.
std::shared_ptr<ReadAhead::Request> ReadAhead::request_for(Pieces::iterator piece) {
  const auto begin_of = [](Pieces::iterator at) { return at->first.offset; };
  const auto end_of = [](Pieces::iterator at) { return at->first.offset + at->second.size_bytes; };
  auto first = piece, last = piece;
  std::uint64_t begin = begin_of(piece), end = end_of(piece);
  const bool is_full = held_bytes_ >= most_held_bytes;
  const auto joins = [&](Pieces::iterator next) {
    const auto& [place, what] = *next;
    if (place.file != piece->first.file || what.request || is_full) return false;
    const auto gap = begin_of(next) > end ? begin_of(next) - end : end_of(next) < begin ? begin - end_of(next) : 0;
    const auto whole = std::max(end, end_of(next)) - std::min(begin, begin_of(next));
    return gap <= most_gap_bytes && whole <= most_joined_bytes;
  };
  while (std::next(last) != pieces_.end() && joins(std::next(last))) {
    ++last;
    end = std::max(end, end_of(last));
  }
  while (first != pieces_.begin() && joins(std::prev(first))) {
    --first;
    begin = begin_of(first);
    end = std::max(end, end_of(first));
  }
  auto request = std::make_shared<Request>(piece->first.file, begin, end - begin);
  for (auto each = first; each != std::next(last); ++each) {
    each->second.request = request;
    request->places.push_back(each->first);
    ++request->users;
  }
  held_bytes_ += request->size_bytes;
  return request;
}

void ReadAhead::finish_requests() {
  int ignored = 0;
  while (const auto* message = libcurl().multi_info_read(multi_, &ignored)) {
    if (message->msg != CURLMSG_DONE) continue;
    auto* const handle = message->easy_handle;
    const auto code = message->data.result;  // the message goes with the handle
    libcurl().multi_remove_handle(multi_, handle);
    idle_.push_back(handle);
    const auto request = running_.extract(handle).mapped();
    finish(*request, request->exchange.finish(code));
  }
}

/// Wakes the waiting readers. The reader of a failed piece fetches it itself; after a failure that may pass, it is also
/// tried here again.
void ReadAhead::finish(Request& request, const std::optional<RemoteFailure>& failure) {
  const MutexLock lock(mutex_);
  request.done = !failure;
  if (failure) {
    const bool again = failure->passing;
    for (const auto& place : request.places) {
      const auto piece = pieces_.find(place);
      if (piece == pieces_.end() || piece->second.request.get() != &request) continue;
      piece->second.request = nullptr;
      piece->second.begun = false;
      if (--request.users == 0) held_bytes_ -= request.size_bytes;
      if (again) begun_.push_back(place);
    }
    if (again) outages_.add(request.file->location.url, failure->message);
    if (again && Clock::now() >= not_before_) {  // one retry for those that fail together
      not_before_ = Clock::now() +
                    std::clamp<std::chrono::milliseconds>(failure->wait_at_least, delay_, HttpClient::longest_wait);
      delay_ = std::min(2 * delay_, HttpClient::longest_delay);
    }
  } else {
    delay_ = first_delay_;
  }
  changed_.notify_all();
}

}  // namespace flowtrain
