#include "stages/flight/flight.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "sampling/core/error.h"
#include "stages/flight/file_writer.h"
#include "stages/flight/recorder.h"
#include "stages/system/named_thread.h"

namespace flowtrain {

namespace {

using flight::AtomicWord;
using flight::FileWriter;
using std::memory_order_release;

std::uint64_t ns_of(FlightSpan::Clock::time_point time) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(time.time_since_epoch()).count());
}

// Reads the same clock in a fifth of the time; it is late by a tick of the kernel.
std::uint64_t coarse_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

// The current recorder's file; threads that hold an earlier one keep it until they ask again.
std::atomic<FileWriter*> recording{nullptr};
Mutex owner_mutex;
std::shared_ptr<FileWriter> owner FT_GUARDED_BY(owner_mutex);

std::shared_ptr<FileWriter> owned() {
  MutexLock lock(owner_mutex);
  return owner;
}

}  // namespace

namespace flight {

/// A thread's slot and its records, which only that thread writes.
class Ring {
 public:
  ~Ring() { leave(); }

  bool writes(const FileWriter* file) const { return file_.get() == file; }
  bool has_slot() const { return thread_ != nullptr; }

  void join(std::shared_ptr<FileWriter> file) {
    leave();
    char name[16] = {};
    ::pthread_getname_np(::pthread_self(), name, sizeof name);
    const std::size_t slot = file->take_slot(name_ ? name_ : name, static_cast<std::uint64_t>(::gettid()));
    file_ = std::move(file);
    if (slot == most_threads) return;
    slot_ = slot;
    thread_ = &file_->content().threads[slot];
    records_ = file_->content().records[slot];
    recorded_ = thread_->recorded;
    changes_ = thread_->changes;
    depth_ = 0;
  }
  void set_name(const char* name) { name_ = name; }

  std::size_t enter(const FlightPlace& place, std::uint64_t now_ns) {
    const std::size_t depth = depth_++;
    if (depth >= most_depth) return depth;
    const std::uint64_t number = file_->place(place.name, place.kind);
    auto& open = thread_->open[depth];
    change([&] {
      open.place.store(number, memory_order_release);
      open.begin_ns.store(now_ns, memory_order_release);
      open.iteration.store(place.iteration ? place.iteration : iteration_, memory_order_release);
      open.number.store(place.number, memory_order_release);
      thread_->depth.store(depth + 1, memory_order_release);
    });
    return depth;
  }

  void leave(std::size_t depth, std::uint64_t now_ns) {
    if (depth_ != depth + 1) return;  // a span of an earlier recorder
    --depth_;
    if (depth >= most_depth) return;
    const auto& open = thread_->open[depth];
    constexpr auto own = std::memory_order_relaxed;  // no other thread writes it
    const std::uint64_t sequence = ++recorded_;
    auto& record = records_[sequence % most_records];
    record.tail.store(0, memory_order_release);
    record.sequence.store(0, memory_order_release);
    record.begin_ns.store(open.begin_ns.load(own), memory_order_release);
    record.end_ns.store(now_ns, memory_order_release);
    record.iteration.store(open.iteration.load(own), memory_order_release);
    record.number.store(open.number.load(own), memory_order_release);
    record.sequence.store(sequence, memory_order_release);
    record.tail.store(tail_of(sequence, open.place.load(own), depth), memory_order_release);
    thread_->recorded.store(sequence, memory_order_release);
    change([&] { thread_->depth.store(depth, memory_order_release); });
  }

  void at_sample(std::uint64_t id, std::string_view name) {
    if (depth_ == 0 || depth_ > most_depth) return;
    auto& thread = *thread_;
    thread.sample_span_ns.store(thread.open[depth_ - 1].begin_ns.load(std::memory_order_relaxed), memory_order_release);
    thread.sample.store(id, memory_order_release);
    thread.sample_since_ns.store(coarse_ns(), memory_order_release);
    if (name.empty()) return;
    std::array<std::uint64_t, text_words> words{};
    name = name.substr(name.size() - std::min(name.size(), sizeof words));  // the end of a path says most
    std::memcpy(words.data(), name.data(), name.size());
    thread.text_sample.store(~std::uint64_t{0}, memory_order_release);
    for (std::size_t i = 0; i < words.size(); ++i) thread.text[i].store(words[i], memory_order_release);
    thread.text_sample.store(id, memory_order_release);
  }

  void set_iteration(std::uint64_t iteration) { iteration_ = iteration; }

 private:
  template <class Write>
  void change(Write write) {
    ++changes_;
    thread_->changes_again.store(0, memory_order_release);
    thread_->changes.store(~std::uint64_t{0}, memory_order_release);
    write();
    thread_->changes.store(changes_, memory_order_release);
    thread_->changes_again.store(changes_, memory_order_release);
  }

  void leave() {
    if (thread_) file_->free_slot(slot_);
    thread_ = nullptr;
    file_.reset();
  }

  std::shared_ptr<FileWriter> file_;
  const char* name_ = nullptr;  // replaces the system's name
  std::size_t slot_ = 0, depth_ = 0;
  Thread<AtomicWord>* thread_ = nullptr;  // null: there was no slot left
  Record<AtomicWord>* records_ = nullptr;
  std::uint64_t recorded_ = 0, changes_ = 0, iteration_ = 0;
};

namespace {

// Reading a plain pointer needs no check, unlike an object with a destructor.
constinit thread_local Ring* ring = nullptr;

Ring& own_ring() {
  struct Holder {
    Ring held;
    ~Holder() { ring = nullptr; }
  };
  thread_local Holder holder;
  ring = &holder.held;
  return holder.held;
}

/// Returns the calling thread's ring; null if no recorder runs, or no slot was left for the thread.
Ring* ring_here() {
  const FileWriter* file = recording.load(std::memory_order_acquire);
  if (!file) return nullptr;
  if (!ring || !ring->writes(file)) {
    auto now = owned();
    if (!now) return nullptr;
    own_ring().join(std::move(now));
  }
  return ring->has_slot() ? ring : nullptr;
}

}  // namespace

}  // namespace flight

const char* flight_name(const std::string& text) {
  static Mutex mutex;
  static std::set<std::string> texts;
  MutexLock lock(mutex);
  return texts.insert(text).first->c_str();
}

bool FlightSpan::is_on() { return recording.load(std::memory_order_relaxed) != nullptr; }

void FlightSpan::begin(const FlightPlace& place, Clock::time_point now) {
  ring_ = flight::ring_here();
  if (ring_) depth_ = ring_->enter(place, ns_of(now));
}

void FlightSpan::end(Clock::time_point now) {
  if (!ring_) return;
  ring_->leave(depth_, ns_of(now));
  ring_ = nullptr;
}

FlightSample::FlightSample() : ring_(flight::ring_here()) {}

void FlightSample::at(std::uint64_t id, std::string_view name) {
  if (ring_) ring_->at_sample(id, name);
}

FlightQueue::FlightQueue(const std::string& name, std::size_t capacity) : file_(owned()) {
  if (!file_) return;
  number_ = file_->queue(name, capacity);
  if (number_ == flight::most_queues) file_.reset();
}

void FlightQueue::set(std::size_t fill) const {
  if (file_) file_->content().queues[number_].fill.store(fill, std::memory_order_relaxed);
}

void flight_iteration(std::uint64_t iteration) {
  if (auto* ring = flight::ring_here()) ring->set_iteration(iteration);
}

void flight_failed(std::string_view message, int exit_code) {
  if (const auto file = owned()) file->failed(message, static_cast<std::uint64_t>(exit_code));
}

FlightRecorder::FlightRecorder(const std::filesystem::path& folder, int rank, int world) {
  std::error_code error;
  std::filesystem::create_directory(folder, error);  // opening the file below reports any error
  file_ = std::make_shared<FileWriter>(folder / ("rank-" + std::to_string(rank) + ".bin"),
                                       static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(world));
  flight::own_ring().set_name("compute");
  flight::own_ring().join(file_);
  {
    MutexLock lock(owner_mutex);
    owner = file_;
    recording = file_.get();
  }
  thread_ = named_thread("ft-flight", [this] { show_life(); });
}

FlightRecorder::~FlightRecorder() {
  {
    MutexLock lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
  }
  thread_.join();
  {
    MutexLock lock(owner_mutex);
    if (owner == file_) {
      recording = nullptr;
      owner.reset();
    }
  }
  auto& end = file_->content().header.end;
  if (end == static_cast<std::uint64_t>(flight::End::none)) end = static_cast<std::uint64_t>(flight::End::ended);
}

void FlightRecorder::show_life() {
  MutexLock lock(mutex_);
  while (!is_over_) {
    const auto now = std::chrono::steady_clock::now();
    file_->content().header.alive_ns = ns_of(now);
    file_->save();
    changed_.wait_until(lock, now + std::chrono::milliseconds(500));
  }
}

}  // namespace flowtrain
