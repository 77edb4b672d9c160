// The part of the profile that times a device's streams.

#include <algorithm>
#include <cmath>

#include "stages/trace/profile.h"

namespace flowtrain {

Profile::StreamSpan::StreamSpan(Profile* profile, Device& device, DeviceStream stream, const char* track,
                                const Work& work) {
  if (profile && profile->times_streams()) begin(profile, device, stream, track, work);
}

Profile::StreamSpan::StreamSpan(Profile* profile, Phase phase) {
  if (profile && profile->times_streams())
    begin(profile, *profile->timed_.device, DeviceStream::compute, "compute stream", profile->work_of(phase));
}

void Profile::StreamSpan::begin(Profile* profile, Device& device, DeviceStream stream, const char* track,
                                const Work& work) {
  profile_ = profile;
  device_ = &device;
  stream_ = stream;
  track_ = track;
  work_ = work;
  asked_ = Clock::now();
  begin_ = device.point(stream);
}

void Profile::StreamSpan::end() {
  if (!begin_) return;
  end_ = device_->point(stream_);
  profile_->add(*this);
}

// An idle stream reaches a point as soon as it is enqueued: then both clocks show the same moment.
void Profile::set_origin() {
  const auto last = timed_.device->point(DeviceStream::compute);
  if (!last) return;
  last->seconds_since(*last);
  timed_.origin = timed_.device->point(DeviceStream::compute);
  timed_.origin_ns = ns_of(Clock::now());
  timed_.name = timed_.device->name();
}

void Profile::add(StreamSpan& span) {
  const std::uintptr_t stream = span.begin_->stream();
  MutexLock lock(mutex_);
  if (stream_works_.size() >= most_events_) return;
  auto known = std::ranges::find(streams_, stream, [](auto& each) { return each.first; });
  if (known == streams_.end()) known = streams_.insert(known, {stream, span.track_});
  stream_works_.push_back({span.work_.name, static_cast<int>(known - streams_.begin()), ns_of(span.asked_),
                           std::move(span.begin_), std::move(span.end_), span.work_.iteration, span.work_.batch});
}

// A device begins no work before it is enqueued: the difference of the clocks must not suggest otherwise.
void Profile::read_streams() {
  std::vector<StreamWork> works;
  {
    MutexLock lock(mutex_);
    works.swap(stream_works_);
  }
  std::vector<Event> read;
  for (auto& work : works) {
    const auto at_ns = [&](const StreamPoint& point, std::int64_t earliest_ns) {
      const std::int64_t since_ns = std::llround(point.seconds_since(*timed_.origin) * 1e9);
      return std::max(timed_.origin_ns + since_ns, earliest_ns);
    };
    const std::int64_t begin_ns = at_ns(*work.begin, work.asked_ns), end_ns = at_ns(*work.end, begin_ns);
    read.push_back({.name = std::move(work.name),
                    .category = "stream",
                    .on_device = true,
                    .thread = work.stream,
                    .begin_ns = begin_ns,
                    .duration_ns = end_ns - begin_ns,
                    .iteration = work.iteration,
                    .batch = work.batch});
  }
  MutexLock lock(mutex_);
  events_.insert(events_.end(), read.begin(), read.end());
}

std::vector<std::string> Profile::streams() const {
  MutexLock lock(mutex_);
  std::vector<std::string> names;
  for (auto& [stream, name] : streams_) names.push_back(name);
  return names;
}

}  // namespace flowtrain
