#pragma once
// Where the time of a run goes: what the compute thread is at, all the time; with --profile also how its times are
// spread, and for a few iterations whatever any thread does. Who is given no Profile measures nothing and reads no
// clock.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sampling/core/mutex.h"
#include "stages/device/device.h"
#include "stages/device/device_range.h"
#include "stages/flight/flight.h"

namespace flowtrain {

/// What the compute thread is at.
enum class Phase : std::uint8_t {
  data,      ///< waits for a batch
  transfer,  ///< waits for its copy, and makes tensors of it
  forward,   ///< net and loss
  backward,
  communication,  ///< waits for other processes' gradients
  gradients,      ///< their norm, and what clips them
  optimizer,
  validation,
  snapshot  ///< the copy of the state that training waits for
};
inline constexpr std::size_t phases = 9;
const char* to_text(Phase phase);

/// How long something took, each time. Of fixed size; percentiles are right to within five percent.
class Durations {
 public:
  void add(double duration_s);
  /// Of the sum, that was something else.
  void take_away(double duration_s) { total_s_ -= duration_s; }
  std::uint64_t count() const { return count_; }
  double total_s() const { return total_s_; }
  double mean_s() const { return count_ > 0 ? total_s_ / static_cast<double>(count_) : 0; }
  /// `share`: 0.5 for the median.
  double percentile_s(double share) const;

 private:
  static constexpr double steps_ = 8;       // of buckets to a factor of two
  static constexpr double least_s_ = 1e-7;  // the first one's
  std::array<std::uint64_t, 320> buckets_{};
  std::uint64_t count_ = 0;
  double total_s_ = 0;
};

/// Which batch a slice of the trace is about: those of the same batch are linked.
struct BatchPlace {
  static constexpr int whole = -1;

  const char* line = nullptr;  ///< its loader: "train", "val"; a literal or flight_name(). Null: about no batch
  std::uint64_t number = 0;    ///< in the loader's sequence, from 0
  int chunk = whole;           ///< the part of it, from 0
};

/// Collects. Phases belong to the compute thread, spans to any.
class Profile {
 public:
  using Clock = std::chrono::steady_clock;

  /// Made by the compute thread. Adds up the time of each phase, for line_s(), and nothing else: cheap enough for every
  /// run.
  Profile() = default;
  /// Made by the compute thread. Of iterations `first` to `last`; the window, in which all is recorded, begins after
  /// the first ten and has ten; half and a quarter of the run where it is short.
  Profile(std::uint64_t first, std::uint64_t last);
  /// Whether --profile asks for more than the sums of phases. On a GPU a phase then ends when the device is done.
  bool detailed() const { return window_first_ > 0; }
  /// In the window the streams of a device are timed as well, where it has some. `device`: where the compute thread
  /// computes; it must outlive finish().
  void time_streams(Device& device) { device_ = &device; }

  /// The compute thread begins an iteration, or ends the run: then it waits for what was timed on streams.
  void begin_iteration(std::uint64_t iteration);
  void finish();
  /// The compute thread's next passes are about this batch.
  void begin_batch(const BatchPlace& batch) { batch_ = batch; }
  /// Whether the compute thread is at a phase, and in no other within it. It, and those that it waits for.
  bool is_at(Phase phase) const;
  /// In the window. Any thread.
  bool recording() const { return recording_.load(std::memory_order_relaxed); }

  /// Whether work on an iteration's batch is recorded (0: on none in particular): in the window, and before it where
  /// the window has that iteration. Any thread.
  bool records(std::uint64_t iteration) const {
    return recording() || (iteration > 0 && iteration >= window_first_ && iteration <= window_last_);
  }

  /// The compute thread is at `phase` while it lives. One within another interrupts that one's time. Without a profile
  /// only the flight recorder and NVIDIA's profilers are told.
  class At {
   public:
    At(Profile* profile, Phase phase);
    ~At();
    At(const At&) = delete;

   private:
    friend class Profile;
    const Clock::time_point begin_;
    FlightSpan flight_;
    const DeviceRange range_;
    Profile* profile_;
    Phase phase_;
    At* outer_ = nullptr;
    double inner_s_ = 0;  // of others within this one
  };

  /// What a slice is about.
  struct Work {
    const char* name;  ///< a literal, or flight_name()
    BatchPlace batch = {};
    std::uint64_t iteration = 0;  ///< 0: unknown
  };

  /// Work of the calling thread, where it is recorded (records()), while it lives. Without a profile only NVIDIA's
  /// profilers are told.
  class Span {
   public:
    Span(Profile* profile, const Work& work)
        : range_(work.name), profile_(profile && profile->records(work.iteration) ? profile : nullptr), work_(work) {
      if (profile_) begin_ = Clock::now();
    }
    ~Span();
    Span(const Span&) = delete;

   private:
    const DeviceRange range_;
    Profile* profile_;
    Work work_;
    Clock::time_point begin_;
  };

  /// What a stream of a device is asked for between construction and end(), in the window, as the device's clock
  /// measures it. Nothing without a profile, without end(), and on devices without streams.
  class StreamSpan {
   public:
    /// `track`: what the stream is called; the first name that it is given counts.
    StreamSpan(Profile* profile, Device& device, DeviceStream stream, const char* track, const Work& work);
    /// A phase on the compute thread's stream. Compute thread.
    StreamSpan(Profile* profile, Phase phase);
    StreamSpan(const StreamSpan&) = delete;
    /// Where the stream is asked for no more.
    void end();

   private:
    friend class Profile;
    Profile* profile_ = nullptr;
    Device* device_ = nullptr;
    DeviceStream stream_ = DeviceStream::compute;
    const char* track_ = nullptr;
    Work work_ = {};
    Clock::time_point asked_;
    std::unique_ptr<StreamPoint> begin_, end_;

    void begin(Profile* profile, Device& device, DeviceStream stream, const char* track, const Work& work);
  };

  /// How full a queue is, in the window. `name`: a literal, or flight_name(). Any thread.
  void count(const char* name, std::size_t fill) {
    if (recording()) record_count(name, fill);
  }

  /// Some of the last backward pass was waiting for other processes.
  void waited_for_others(double duration_s);

  /// Seconds in each phase since the last begin_line(), without other phases within it.
  const std::array<double, phases>& line_s() const { return line_s_; }
  /// The next train line begins.
  void begin_line() { line_s_ = {}; }

  /// One operation of the net, in the window: of which layer; `own_s`: without those that it called.
  struct Operation {
    std::string name, layer;  ///< no layer: outside of the passes
    bool backward = false;
    Clock::time_point begin, end;
    double own_s = 0;
  };
  void add(const Operation& operation);

  /// What a thread, or a stream of the device, did from when to when.
  struct Event {
    std::string name, category, layer = {};
    bool on_device = false;
    int thread = 0;  ///< by the system's number; of a stream: its place in streams(), from 0
    std::int64_t begin_ns = 0, duration_ns = 0;  ///< since the profile's beginning
    std::uint64_t iteration = 0;                 ///< 0: unknown
    BatchPlace batch = {};
  };
  /// How full a queue was from then on.
  struct Count {
    const char* name;
    std::int64_t at_ns;
    std::size_t fill;
  };
  struct Cost {
    std::uint64_t calls = 0;
    double forward_s = 0, backward_s = 0;
    double sum_s() const { return forward_s + backward_s; }
  };

  // For who reports, after finish().
  const Durations& of(Phase phase) const { return phases_[static_cast<std::size_t>(phase)]; }
  /// Outside the window, which is left out of `of`: there measuring takes its time.
  std::uint64_t iterations() const { return iterations_; }
  double wall_s() const { return wall_s_; }
  std::uint64_t window_first() const { return window_first_; }
  std::uint64_t window_last() const { return window_last_; }
  std::uint64_t recorded() const { return recorded_; }  ///< iterations of the window
  /// By names. An operation's time is without those that it calls.
  const std::map<std::string, Cost>& operations() const { return operations_; }
  const std::map<std::string, Cost>& layers() const { return layers_; }
  /// Copies, as a loader that runs on may still add to them.
  std::vector<Event> events() const;
  std::vector<Count> counts() const;
  std::map<int, std::string> threads() const;
  std::vector<std::string> streams() const;
  /// Whose streams were timed; empty: nobody's.
  const std::string& device() const { return device_name_; }

 private:
  friend class StreamSpan;
  struct StreamWork {  // read once the device is done with it
    std::string name;
    int stream;
    std::int64_t asked_ns;
    std::unique_ptr<StreamPoint> begin, end;
    std::uint64_t iteration;
    BatchPlace batch;
  };

  void leave(Phase phase, Clock::time_point begin, Clock::time_point end, double own_s);
  void record(Event event, Clock::time_point begin, Clock::time_point end);
  void record_count(const char* name, std::size_t fill);
  std::int64_t ns_of(Clock::time_point time) const;
  Work work_of(Phase phase) const;
  bool times_streams() const { return recording_.load(std::memory_order_acquire) && origin_; }
  void set_origin();
  void add(StreamSpan& span);
  void read_streams();
  void count_wall();

  static constexpr std::size_t most_events_ = 500'000;  // of each kind; about 70 MB of trace.json
  std::uint64_t window_first_ = 0, window_last_ = 0;
  Clock::time_point start_ = Clock::now(), since_ = start_;
  std::uint64_t iteration_ = 0, iterations_ = 0, recorded_ = 0;
  BatchPlace batch_;
  double wall_s_ = 0;
  At* innermost_ = nullptr;
  std::array<Durations, phases> phases_;
  std::array<double, phases> line_s_{};
  std::map<std::string, Cost> operations_, layers_;
  Device* device_ = nullptr;
  std::unique_ptr<StreamPoint> origin_;  // from which streams are timed; made once, before recording_
  std::int64_t origin_ns_ = 0;
  std::string device_name_;
  std::atomic<bool> recording_{false};
  mutable Mutex mutex_;
  std::vector<Event> events_ FT_GUARDED_BY(mutex_);
  std::vector<Count> counts_ FT_GUARDED_BY(mutex_);
  std::map<int, std::string> threads_ FT_GUARDED_BY(mutex_);  // by their system's numbers
  std::vector<StreamWork> stream_works_ FT_GUARDED_BY(mutex_);
  std::vector<std::pair<std::uintptr_t, std::string>> streams_ FT_GUARDED_BY(mutex_);
};

}  // namespace flowtrain
