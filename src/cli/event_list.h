// The events of a run as JSON results show them.
#pragma once

#include <nlohmann/json.hpp>
#include <utility>

#include "job/event.h"
#include "job/run_record.h"

namespace assay::cli {

/// The events of one kind as they came, without the key that names it.
template <typename Kind>
nlohmann::json EventList(const job::RunRecord& record) {
  nlohmann::json list = nlohmann::json::array();
  for (const Kind& event : job::EventsOf<Kind>(record)) {
    nlohmann::json object = nlohmann::json::parse(job::ToJsonLine(event));
    object.erase("event");
    list.push_back(std::move(object));
  }
  return list;
}

}  // namespace assay::cli
