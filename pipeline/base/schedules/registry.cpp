#include "pipeline/base/schedules/schedule.h"

namespace flowtrain {

#define FLOWTRAIN_ENTRY(name) ScheduleEntry name##_entry();
#include "pipeline/base/schedules/list.h"
#undef FLOWTRAIN_ENTRY

// The registry is never destroyed: entries of plugins may outlive the program's static objects.
Registry<Schedule, ScheduleInput>& schedules() {
  static Registry<Schedule, ScheduleInput>& all = *[] {
    auto* const made = new Registry<Schedule, ScheduleInput>("schedule");
#define FLOWTRAIN_ENTRY(name) made->add(name##_entry());
#include "pipeline/base/schedules/list.h"
#undef FLOWTRAIN_ENTRY
    return made;
  }();
  return all;
}

}  // namespace flowtrain
