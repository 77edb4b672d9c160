#include "pipeline/runs/postmortem/flight_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <memory>
#include <system_error>

#include "sampling/core/error.h"
#include "sampling/core/parse.h"
#include "sampling/core/text.h"
#include "stages/flight/boot.h"
#include "stages/system/wall_time.h"

namespace flowtrain {

namespace {

namespace fs = std::filesystem;
using Word = std::uint64_t;
using Content = flight::File<Word>;

constexpr double most_silence_s = 3;  // the process writes twice a second that it runs

UserError damaged(const std::string& name, const std::string& what) {
  return UserError(ExitCode::data, concat(name, ": ", what), "expected the folder of a run that flowtrain trained");
}

// Makes text printable. The bytes may be damaged, and a terminal obeys some of them.
std::string printable(const char* text, std::size_t size) {
  std::string shown(text, ::strnlen(text, size));
  for (char& each : shown)
    if (static_cast<unsigned char>(each) < 0x20 || each == 0x7f) each = '?';
  return shown;
}

class Reader {
 public:
  Reader(const Content& content, const std::string& name) : content_(content), name_(name) {}

  FlightLog read(const FlightNow& now) const {
    const auto& header = content_.header;
    if (header.rank >= 1u << 20 || header.world == 0 || header.world > 1u << 20)
      throw damaged(name_, concat("damaged: rank ", header.rank, " of ", header.world));
    FlightLog log{.rank = header.rank, .world = header.world, .process = header.pid, .boot = header.boot};
    log.host = printable(header.host, sizeof header.host);
    log.message = printable(header.message, sizeof header.message);
    log.exit_code = header.exit_code;
    log.wall_offset = static_cast<FlightTime>(header.wall_ns - header.started_ns);
    log.started = time(header.started_ns);
    log.now = header.boot == now.boot ? time(now.monotonic_ns) : now.wall;
    log.last = time(header.alive_ns);
    log.threads_without_place = header.threads_without_place;
    for (std::size_t i = 0; i < flight::most_threads; ++i)
      if (const auto& each = content_.threads[i]; each.state != static_cast<Word>(flight::SlotState::unused))
        log.threads.push_back(thread(each, content_.records[i]));
    for (std::size_t i = 0; i < std::min<Word>(header.queues, flight::most_queues); ++i) {
      const auto& queue = content_.queues[i];
      log.queues.push_back({printable(queue.text, sizeof queue.text), queue.fill, queue.capacity});
    }
    for (auto& thread : log.threads) {
      for (auto& entry : thread.open) log.last = std::max(log.last, entry.begin);
      for (auto& entry : thread.past) log.last = std::max(log.last, entry.end);
    }
    log.state = state(log, now);
    if (log.state == FlightLog::State::running) log.last = log.now;
    return log;
  }

 private:
  FlightTime time(Word monotonic_ns) const {
    return static_cast<FlightTime>(content_.header.wall_ns + monotonic_ns - content_.header.started_ns);
  }

  FlightLog::State state(const FlightLog& log, const FlightNow& now) const {
    switch (static_cast<flight::End>(content_.header.end)) {
      case flight::End::none: break;
      case flight::End::failed: return FlightLog::State::failed;
      default: return FlightLog::State::ended;
    }
    const auto inode = content_.header.locked_inode;
    if (inode == 0 || inode != now.inode) return FlightLog::State::unknown;
    if (!now.locked) return FlightLog::State::gone;
    return seconds_between(log.last, log.now) > most_silence_s ? FlightLog::State::stopped : FlightLog::State::running;
  }

  FlightEntry entry(Word place, std::size_t depth, Word iteration, Word number) const {
    FlightEntry entry{.depth = depth, .iteration = iteration, .number = number};
    if (place == 0 || place >= std::min<Word>(content_.header.places, flight::most_places)) {
      entry.place = "?";
      return entry;
    }
    const auto& named = content_.places[place];
    entry.place = printable(named.text, sizeof named.text);
    if (named.kind <= static_cast<Word>(flight::Kind::collective)) entry.kind = static_cast<flight::Kind>(named.kind);
    return entry;
  }

  FlightThread thread(const flight::Thread<Word>& slot,
                      const flight::Record<Word> (&records)[flight::most_records]) const {
    FlightThread thread{.name = printable(slot.name, sizeof slot.name), .id = slot.id};
    thread.has_ended = slot.state != static_cast<Word>(flight::SlotState::used);
    const auto depth = thread.has_ended ? 0 : std::min<Word>(slot.depth, flight::most_depth);
    for (std::size_t i = 0; i < depth; ++i) {
      const auto& open = slot.open[i];
      thread.open.push_back(entry(open.place, i, open.iteration, open.number));
      thread.open.back().begin = time(open.begin_ns);
    }
    if (depth > 0 && slot.sample_span_ns == slot.open[depth - 1].begin_ns) {
      // The clock of samples may lag by a tick.
      thread.sample = FlightSampleAt{slot.sample, {}, std::max(time(slot.sample_since_ns), thread.open.back().begin)};
      if (slot.text_sample == slot.sample)
        thread.sample->name = printable(reinterpret_cast<const char*>(slot.text), sizeof slot.text);
    }
    for (const auto& record : records) {
      if (record.sequence == 0 || record.sequence % flight::most_records != static_cast<Word>(&record - records) ||
          record.tail != flight::tail_of(record.sequence, record.tail & 0xffff, record.tail >> 16 & 0xffff))
        continue;
      auto past = entry(record.tail & 0xffff, record.tail >> 16 & 0xffff, record.iteration, record.number);
      past.begin = time(record.begin_ns);
      past.end = time(record.end_ns);
      thread.past.push_back(std::move(past));
    }
    std::ranges::stable_sort(thread.past, {}, &FlightEntry::end);
    return thread;
  }

  const Content& content_;
  const std::string& name_;
};

bool is_torn(const Content& content) {
  return std::ranges::any_of(content.threads, [](auto& thread) { return thread.changes != thread.changes_again; });
}

/// A file descriptor that is closed at the end.
struct Descriptor {
  explicit Descriptor(const fs::path& path) : number(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (number < 0) throw damaged(path.string(), std::generic_category().message(errno));
  }
  ~Descriptor() { ::close(number); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  const int number;
};

FlightLog read_flight(const fs::path& path) {
  const Descriptor file(path);
  struct stat status {};
  if (::fstat(file.number, &status) != 0 || !S_ISREG(status.st_mode))
    throw damaged(path.string(), "this is not a regular file");
  std::vector<std::byte> bytes(sizeof(Content));
  const auto content = std::make_unique<Content>();
  // If threads change their place all the time, a copy may hold two states at once; the next copy is whole.
  for (int tries = 0; tries < 5; ++tries) {
    const ssize_t got = ::pread(file.number, bytes.data(), bytes.size(), 0);
    if (got < 0) throw damaged(path.string(), std::generic_category().message(errno));
    bytes.resize(static_cast<std::size_t>(got));
    if (bytes.size() < sizeof(Content)) break;
    std::memcpy(content.get(), bytes.data(), sizeof(Content));
    if (!is_torn(*content)) break;
  }
  const std::chrono::nanoseconds monotonic = std::chrono::steady_clock::now().time_since_epoch();
  FlightNow now{.wall = static_cast<FlightTime>(1e9 * wall_time_s()),
                .boot = flight::boot_hash(),
                .monotonic_ns = static_cast<Word>(monotonic.count())};
  struct stat state {};
  if (::fstat(file.number, &state) == 0) now.inode = state.st_ino;
  now.locked = ::flock(file.number, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  return parse_flight(bytes, now, path.string());
}

/// Shifts all times.
void shift(FlightLog& log, FlightTime by) {
  const auto move = [by](FlightTime& time) {
    time = static_cast<FlightTime>(static_cast<Word>(time) + static_cast<Word>(by));
  };
  for (FlightTime* each : {&log.wall_offset, &log.started, &log.now, &log.last}) move(*each);
  for (auto& thread : log.threads) {
    if (thread.sample) move(thread.sample->since);
    for (auto* entries : {&thread.open, &thread.past})
      for (auto& entry : *entries) move(entry.begin), move(entry.end);
  }
}

/// Returns R of rank-R.bin or rank-R.1.bin.
std::optional<std::uint64_t> rank_in(const std::string& name, bool former) {
  const std::string begin = "rank-", end = former ? ".1.bin" : ".bin";
  if (!name.starts_with(begin) || !name.ends_with(end) || name.size() <= begin.size() + end.size()) return {};
  return parse_number<std::uint64_t>(
      std::string_view(name).substr(begin.size(), name.size() - begin.size() - end.size()));
}

}  // namespace

FlightLog parse_flight(std::span<const std::byte> bytes, const FlightNow& now, const std::string& name) {
  const auto content = std::make_unique<Content>();
  if (bytes.size() < sizeof content->header) throw damaged(name, "this is not a flight record: it is too short");
  std::memcpy(&content->header, bytes.data(), sizeof content->header);
  const auto& header = content->header;
  if (std::memcmp(header.magic, flight::magic, sizeof header.magic) != 0)
    throw damaged(name, "this is not a flight record, or it is just being made");
  if (header.version != flight::version || header.file_bytes != sizeof(Content))
    throw damaged(name, concat("another version of flowtrain wrote this flight record (", header.version, ")"));
  if (bytes.size() < sizeof(Content))
    throw damaged(name, concat("the file is cut off: it has ", bytes.size(), " bytes of ", sizeof(Content)));
  std::memcpy(content.get(), bytes.data(), sizeof(Content));
  return Reader(*content, name).read(now);
}

Flight read_flights(const fs::path& run, bool former) {
  Flight flight;
  auto& logs = flight.logs;
  std::exception_ptr first_error;
  const fs::path folder = run / "flight";
  std::error_code error;
  for (fs::directory_iterator each(folder, error), end; !error && each != end; each.increment(error))
    if (rank_in(each->path().filename().string(), former)) try {
        logs.push_back(read_flight(each->path()));
      } catch (const UserError& unreadable) {
        flight.unreadable.push_back(first_line(unreadable.what()));
        if (!first_error) first_error = std::current_exception();
      }
  if (logs.empty() && first_error) std::rethrow_exception(first_error);
  if (logs.empty())
    throw UserError(ExitCode::data,
                    concat("no flight record in ", folder.string(), former ? " of the previous start" : ""),
                    "name the folder of a run, e.g. runs/quickstart");
  // Ranks of an earlier start with more ranks are left out.
  const auto newest = std::ranges::max_element(logs, {}, &FlightLog::started);
  std::erase_if(logs, [world = newest->world](auto& log) { return log.rank >= world; });
  std::ranges::sort(logs, {}, &FlightLog::rank);
  // The wall clock may have been set between the starts of two ranks.
  for (auto& log : logs) {
    const auto first = std::ranges::find(logs, log.boot, &FlightLog::boot);
    shift(log, static_cast<FlightTime>(static_cast<Word>(first->wall_offset) - static_cast<Word>(log.wall_offset)));
  }
  return flight;
}

}  // namespace flowtrain
