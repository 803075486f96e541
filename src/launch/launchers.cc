#include "launch/launchers.h"

#include <fmt/format.h>

#include <algorithm>

#include "launch/kubernetes/kubernetes_launcher.h"
#include "launch/local_launcher.h"
#include "launch/ray/ray_launcher.h"
#include "launch/slurm_launcher.h"
#include "launch/torchrun_launcher.h"

namespace assay::launch {
namespace {

Result<std::unique_ptr<Launcher>> OpenLocal(const LauncherSettings& /*settings*/) {
  return std::unique_ptr<Launcher>(std::make_unique<LocalLauncher>());
}

Result<std::unique_ptr<Launcher>> OpenTorchrun(const LauncherSettings& /*settings*/) {
  return std::unique_ptr<Launcher>(std::make_unique<TorchrunLauncher>());
}

Result<std::unique_ptr<Launcher>> OpenRay(const LauncherSettings& settings) {
  return RayLauncher::Open({.address = settings.address,
                            .cpus_per_rank = std::max<int64_t>(1, settings.cpus_per_rank),
                            .resources = settings.resources});
}

Result<std::unique_ptr<Launcher>> OpenSlurm(const LauncherSettings& settings) {
  return SlurmLauncher::Open({.partition = settings.address,
                              .cpus_per_rank = std::max<int64_t>(1, settings.cpus_per_rank),
                              .resources = settings.resources});
}

Result<std::unique_ptr<Launcher>> OpenKubernetes(const LauncherSettings& settings) {
  return KubernetesLauncher::Open({.address = settings.address,
                                   .cpus_per_rank = std::max<int64_t>(1, settings.cpus_per_rank),
                                   .resources = settings.resources});
}

constexpr LauncherKind kKinds[] = {
    {"local", "processes of this machine", /*elsewhere=*/false, &OpenLocal},
    {"torchrun", "the same, started by torchrun", /*elsewhere=*/false, &OpenTorchrun},
    {"ray", "machines of a Ray cluster", /*elsewhere=*/true, &OpenRay},
    {"slurm", "machines of a Slurm cluster, whose partition --address names", /*elsewhere=*/true, &OpenSlurm},
    {"kubernetes", "pods of a Kubernetes cluster", /*elsewhere=*/true, &OpenKubernetes},
};

}  // namespace

std::span<const LauncherKind> LauncherKinds() {
  return kKinds;
}

Result<std::unique_ptr<Launcher>> OpenLauncher(const LauncherSettings& settings) {
  const auto* kind = std::ranges::find(kKinds, settings.kind, &LauncherKind::name);
  if (kind == std::end(kKinds)) {
    return Status::InvalidArgument(fmt::format("there is no launcher '{}'", settings.kind));
  }
  if (!settings.address.empty() && !kind->elsewhere) {
    return Status::InvalidArgument(fmt::format("launcher {} has no address: leave --address out", kind->name));
  }
  if ((settings.cpus_per_rank > 0 || !settings.resources.empty()) && !kind->elsewhere) {
    return Status::InvalidArgument(
        fmt::format("launcher {} sets nothing aside: leave --cpus-per-rank and --resource out", kind->name));
  }
  return kind->open(settings);
}

}  // namespace assay::launch
