// assay doctor: what this machine is and what it can do at best. Later results are held against these ceilings.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/verb.h"
#include "launch/product_ceilings.h"
#include "measure/ceilings.h"
#include "measure/machine.h"
#include "measure/nvml.h"
#include "version.h"

namespace assay::cli {
namespace {

struct DoctorOptions {
  std::string folder;
  std::string output;
  bool quick = false;
};

nlohmann::json ToJson(const measure::MemoryBandwidth& memory) {
  return {{"read_gb_per_s", memory.read_gb_per_s},
          {"copy_gb_per_s", memory.copy_gb_per_s},
          {"triad_gb_per_s", memory.triad_gb_per_s},
          {"array_bytes", memory.array_bytes},
          {"threads", memory.threads},
          {"method", memory.method}};
}

nlohmann::json ToJson(const measure::DiskSpeed& disk) {
  return {{"write_mib_per_s", disk.write_mib_per_s},
          {"read_mib_per_s", disk.read_mib_per_s},
          {"file_bytes", disk.file_bytes},
          {"direct_read", disk.direct_read},
          {"folder", disk.folder},
          {"method", disk.method}};
}

nlohmann::json ToJson(const measure::LoopbackSpeed& loopback) {
  return {{"throughput_gb_per_s", loopback.throughput_gb_per_s},
          {"round_trip_us", loopback.round_trip_us},
          {"method", loopback.method}};
}

Result<nlohmann::json> MeasureCeilings(const DoctorOptions& options) {
  StatusLine progress(stderr);
  nlohmann::json ceilings;
  progress.Update("measuring matrix products");
  ASSAY_ASSIGN_OR_RETURN(ceilings["matrix_products"], launch::MeasureProductCeilings());
  progress.Update("measuring memory bandwidth");
  ASSAY_ASSIGN_OR_RETURN(const auto memory, measure::MeasureMemoryBandwidth());
  ceilings["memory"] = ToJson(memory);
  progress.Update("measuring the disk of " + options.folder);
  ASSAY_ASSIGN_OR_RETURN(const auto disk, measure::MeasureDisk(options.folder));
  ceilings["disk"] = ToJson(disk);
  progress.Update("measuring loopback");
  ASSAY_ASSIGN_OR_RETURN(const auto loopback, measure::MeasureLoopback());
  ceilings["loopback"] = ToJson(loopback);
  return ceilings;
}

void AddMachineRows(TextTable& table, const measure::MachineInfo& machine) {
  table.AddRow({"CPU", machine.cpu_model});
  table.AddRow({"cores", fmt::format("{} usable of {} logical, {} physical, {} socket(s)", machine.usable_cores,
                                     machine.logical_cores, machine.physical_cores, machine.sockets)});
  table.AddRow({"caches", fmt::format("L1d {}, L2 {}, L3 {}", FormatBytes(static_cast<double>(machine.l1d_bytes)),
                                      FormatBytes(static_cast<double>(machine.l2_bytes)),
                                      FormatBytes(static_cast<double>(machine.l3_bytes)))});
  table.AddRow({"instruction sets", measure::DescribeIsa(machine.isa)});
  std::string memory = fmt::format("{}, {} available", FormatBytes(static_cast<double>(machine.memory_bytes)),
                                   FormatBytes(static_cast<double>(machine.memory_available_bytes)));
  if (machine.memory_limit_bytes > 0) {
    memory += fmt::format(", limited to {}", FormatBytes(static_cast<double>(machine.memory_limit_bytes)));
  }
  table.AddRow({"memory", memory});
  for (const measure::GpuInfo& gpu : machine.gpus) {
    table.AddRow({"GPU", fmt::format("{}, {}, driver {}", gpu.name, FormatBytes(static_cast<double>(gpu.memory_bytes)),
                                     machine.gpu_driver)});
  }
  if (machine.gpus.empty()) {
    table.AddRow({"GPU", "none"});
  }
  table.AddRow({"system", fmt::format("{}, Linux {}", machine.os, machine.kernel)});
  table.AddRow({"assay", fmt::format("{}, commit {}, libtorch {}", kVersion, kCommit, kTorchVersion)});
}

void AddCeilingRows(TextTable& table, const nlohmann::json& ceilings) {
  for (const auto& product : ceilings["matrix_products"]["products"]) {
    table.AddRow({fmt::format("matrix product, {}", product["dtype"].get<std::string>()),
                  fmt::format("{} TFLOP/s", FormatNumber(product["tflops"].get<double>()))});
  }
  if (ceilings["matrix_products"].contains("device_copy_gb_per_s")) {
    table.AddRow(
        {"GPU memory",
         fmt::format("copy {} GB/s", FormatNumber(ceilings["matrix_products"]["device_copy_gb_per_s"].get<double>()))});
  }
  const auto number = [&ceilings](const char* part, const char* field) {
    return FormatNumber(ceilings[part][field].get<double>());
  };
  table.AddRow(
      {"memory bandwidth", fmt::format("read {} GB/s, copy {} GB/s, triad {} GB/s", number("memory", "read_gb_per_s"),
                                       number("memory", "copy_gb_per_s"), number("memory", "triad_gb_per_s"))});
  table.AddRow(
      {"disk", fmt::format("write with fsync {} MiB/s, cold read {} MiB/s in {}", number("disk", "write_mib_per_s"),
                           number("disk", "read_mib_per_s"), ceilings["disk"]["folder"].get<std::string>())});
  table.AddRow({"loopback", fmt::format("{} GB/s, round trip {} us", number("loopback", "throughput_gb_per_s"),
                                        number("loopback", "round_trip_us"))});
}

Status Run(DoctorOptions options) {
  if (options.folder.empty()) {
    options.folder = UserCacheDirectory();
  }
  const auto nvml = measure::Nvml::Load();
  const measure::MachineInfo machine = measure::DescribeMachine(nvml.get());
  nlohmann::json ceilings;
  if (!options.quick) {
    ASSAY_ASSIGN_OR_RETURN(ceilings, MeasureCeilings(options));
  }
  if (options.output == "json") {
    fmt::print("{}",
               DumpJsonPretty({{"machine", measure::ToJson(machine)},
                               {"versions", {{"assay", kVersion}, {"commit", kCommit}, {"libtorch", kTorchVersion}}},
                               {"ceilings", ceilings}}));
    return Status::Ok();
  }
  TextTable table({"this machine", ""});
  AddMachineRows(table, machine);
  fmt::print("{}", table.Render());
  if (!options.quick) {
    TextTable measured({"ceiling", "measured"});
    AddCeilingRows(measured, ceilings);
    fmt::print("\n{}", measured.Render());
  }
  return Status::Ok();
}

}  // namespace

Action AddDoctor(CLI::App& app) {
  auto options = std::make_shared<DoctorOptions>();
  app.add_option("--folder", options->folder, "Folder whose disk is measured [" + UserCacheDirectory() + "]")
      ->type_name("DIR");
  app.add_flag("--quick", options->quick, "Only describe the machine, measure nothing");
  AddOutputOption(app, options->output, {"table", "json"});
  return [options] { return Run(*options); };
}

}  // namespace assay::cli
