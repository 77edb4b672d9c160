#include "pipeline/base/schedules/schedule.h"

namespace flowtrain {

#define FLOWTRAIN_ENTRY(name) ScheduleEntry name##_entry();
#include "pipeline/base/schedules/list.h"
#undef FLOWTRAIN_ENTRY

// Never destroyed: entries of plugins may outlive what a program's end takes down.
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
