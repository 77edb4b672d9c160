#include "pipeline/engine/isolation/sampler_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "stages/trace/clock.h"

namespace flowtrain::isolation {
namespace {

constexpr std::chrono::milliseconds look_after{20};  // a killed process wakes nobody
constexpr std::chrono::seconds least_start{60};      // it may open LibTorch

template <std::size_t size>
std::string text_in(const std::array<char, size>& from) {
  return {from.data(), strnlen(from.data(), size)};
}

std::string describe_end(int status) {
  if (WIFSIGNALED(status))
    return concat("was ended by signal ", WTERMSIG(status), " (", strsignal(WTERMSIG(status)), ")");
  return concat("exited with code ", WEXITSTATUS(status));
}

}  // namespace

SamplerProcess::SamplerProcess(const std::string& program, const std::string& setup, const Record* first,
                               std::chrono::duration<double> time_limit)
    : memory_(records_offset), time_limit_(time_limit) {
  new (memory_.data()) Control;
  const std::span<const Record* const> records(&first, first ? 1 : 0);
  constexpr std::size_t most_of_made = 1 << 16;
  const std::size_t stored = stored_bytes(records);
  reserve(stored, std::max(setup.size(), most_of_made));
  store_records(records, memory_.data() + records_offset);
  std::memcpy(memory_.data() + rows_offset_, setup.data(), setup.size());
  start(program);
  try {
    run(Request::create, setup.size(), std::max<std::chrono::duration<double>>(time_limit, least_start));
    const char* made = reinterpret_cast<const char*>(memory_.data() + rows_offset_);
    made_ = made_from({made, std::min<std::size_t>(control().records, most_of_made)});
  } catch (const ProcessLost& lost) {
    throw UserError(ExitCode::usage, concat("sampler.process: the process that makes the sampler ", lost.what()),
                    "sampler.process = false runs the sampler in this process, where a debugger finds the place");
  }
}

SamplerProcess::Child::~Child() {
  if (lifeline >= 0) ::close(lifeline);
  if (pid < 0) return;
  ::kill(pid, SIGKILL);
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// fork() is not used because this process has threads.
void SamplerProcess::start(const std::string& program) {
  int ends[2];
  const auto no_descriptor = [] {
    return UserError(ExitCode::usage, concat("sampler.process: ", std::generic_category().message(errno)),
                     "raise the limit on open files (ulimit -n)");
  };
  if (::pipe2(ends, O_CLOEXEC) != 0) throw no_descriptor();
  child_.lifeline = ends[1];
  const int other_end = ::fcntl(ends[0], F_DUPFD_CLOEXEC, lifeline_descriptor + 1);
  const int failure = errno;
  ::close(ends[0]);
  errno = failure;
  if (other_end < 0) throw no_descriptor();

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, memory_.descriptor(), memory_descriptor);
  posix_spawn_file_actions_adddup2(&files, other_end, lifeline_descriptor);
  posix_spawn_file_actions_addclosefrom_np(&files, lifeline_descriptor + 1);
  // The process gets a group of its own: Ctrl-C is for the program, which ends it in time.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::string name = "flowtrain", word = command_word;
  char* const words[] = {name.data(), word.data(), nullptr};
  const int error = ::posix_spawn(&child_.pid, program.c_str(), &files, &attributes, words, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  ::close(other_end);
  if (error == 0) return;
  child_.pid = -1;
  throw UserError(ExitCode::usage,
                  concat("sampler.process: cannot start ", program, ": ", std::generic_category().message(error)),
                  "check the limits on processes (ulimit -u) and memory");
}

void SamplerProcess::reserve(std::size_t records_bytes, std::size_t rows_bytes) {
  rows_offset_ = records_offset + aligned(records_bytes);
  memory_.grow(rows_offset_ + rows_bytes);
  control().memory_bytes = memory_.size();
  control().rows_offset = rows_offset_;
}

std::size_t SamplerProcess::bytes_of(std::size_t field, std::size_t rows, Row first) const {
  return made_.fields[field].row_bytes(extents_of(made_.fields, field, first.extents())) * rows;
}

void SamplerProcess::prepare(std::span<const Record* const> records, Row first) {
  std::size_t rows_bytes = 0;
  for (std::size_t i = 0; i < first.size(); ++i) rows_bytes += aligned(bytes_of(i, records.size(), first));
  reserve(stored_bytes(records), rows_bytes);
  store_records(records, memory_.data() + records_offset);
  control().axes = first.extents().size();
  std::ranges::copy(first.extents(), control().extents.begin());
  control().segment = first.segment();
}

void SamplerProcess::measure(const Record& record, std::span<std::int64_t> extents) {
  const Record* const one = &record;
  prepare({&one, 1}, Row({}, {}));
  control().axes = extents.size();
  run(Request::measure, 1, time_limit_);
  std::ranges::copy(std::span(control().extents).first(extents.size()), extents.begin());
}

void SamplerProcess::sample(const Record& record, Stream& random, Row row) {
  const Record* const one = &record;
  prepare({&one, 1}, row);
  std::memcpy(control().random.data(), &random, sizeof random);
  run(Request::sample, 1, time_limit_);
  std::memcpy(static_cast<void*>(&random), control().random.data(), sizeof random);
  copy_rows(1, row);
}

void SamplerProcess::sample_rows(std::span<const Record* const> records, Row first) {
  prepare(records, first);
  run(Request::sample_rows, records.size(), time_limit_);
  copy_rows(records.size(), first);
}

void SamplerProcess::copy_rows(std::size_t rows, Row first) const {
  const std::byte* from = memory_.data() + rows_offset_;
  for (std::size_t i = 0; i < made_.fields.size(); ++i) {
    const std::size_t bytes = bytes_of(i, rows, first);
    std::memcpy(first[i], from, bytes);
    from += aligned(bytes);
  }
}

void SamplerProcess::run(Request request, std::size_t records, std::chrono::duration<double> limit) {
  control().request = request;
  control().records = records;
  auto& state = control().state;
  state.store(requested, std::memory_order_release);
  wake(state);
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint32_t now; (now = state.load(std::memory_order_acquire)) != done;) {
    sleep_while(state, now, look_after);
    if (state.load(std::memory_order_acquire) == done) break;
    int status = 0;
    if (::waitpid(child_.pid, &status, WNOHANG) == child_.pid) {
      child_.pid = -1;
      if (state.load(std::memory_order_acquire) == done) break;  // it ended after its work
      lose(describe_end(status));
    }
    if (seconds_since(begin) > limit.count())
      lose(concat("was ended after ", limit.count(), " s",
                  limit == time_limit_ ? " (sampler.process_timeout)" : ", the limit for making a sampler"));
  }
  rethrow_result();
}

void SamplerProcess::lose(const std::string& how) {
  throw ProcessLost(how, control().state.load(std::memory_order_acquire) != requested);
}

void SamplerProcess::rethrow_result() const {
  const std::string message = text_in(control().message);
  switch (control().result) {
    case Result::ok: return;
    case Result::bad_sample: throw SampleError(message);
    case Result::user_error: throw UserError(static_cast<ExitCode>(control().code), message, text_in(control().hint));
    case Result::out_of_memory: throw std::bad_alloc();
    case Result::bug: break;
  }
  throw InternalError(message);
}

}  // namespace flowtrain::isolation
