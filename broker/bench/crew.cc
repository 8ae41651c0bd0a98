#include "broker/bench/crew.h"

#include <utility>

#include "absl/time/clock.h"

namespace hourglass {
namespace {

constexpr double kSecondNs = 1e9;

// Part `index` of `total` cut into `parts` that differ by at most one.
uint64_t ShareOf(uint64_t total, size_t parts, size_t index) {
  return total / parts + (index < total % parts ? 1 : 0);
}

}  // namespace

Crew::Crew(Clock* clock, WindowList* windows, const CrewPlan& plan,
           std::vector<Work*> works)
    : clock_(clock), plan_(plan), producers_(works.size()) {
  for (size_t i = 0; i < works.size(); ++i) {
    windows->push_back(std::make_unique<Window>(
        clock, ShareOf(plan.in_flight, works.size(), i)));
    producers_[i].work = works[i];
    producers_[i].window = windows->back().get();
    producers_[i].share = ShareOf(plan.operations, works.size(), i);
  }
}

Crew::~Crew() {
  Stop();
  Join();
}

void Crew::Start() {
  {
    MutexLock lock(&mu_);
    running_ = producers_.size();
  }
  begin_ns_ = clock_->MonotonicNs();
  for (Producer& producer : producers_) {
    producer.thread = std::thread([this, &producer] { Run(&producer); });
  }
}

void Crew::Run(Producer* producer) {
  uint64_t issued = 0;
  for (; issued < producer->share; ++issued) {
    if (stop_.load(std::memory_order_relaxed)) break;
    if (producer->window->failed()) break;
    if (plan_.rate > 0) WaitForTurn(issued);
    producer->window->WaitForRoom(issued);
    producer->work->Issue(issued, producer->window);
  }
  producer->issued = issued;
  producer->window->WaitFor(issued);
  const int64_t now_ns = clock_->MonotonicNs();
  MutexLock lock(&mu_);
  end_ns_ = std::max(end_ns_, now_ns);
  if (--running_ == 0) finished_.SignalAll();
}

void Crew::WaitForTurn(uint64_t issued) const {
  const double rate =
      static_cast<double>(plan_.rate) / static_cast<double>(producers_.size());
  while (!stop_) {
    const auto passed_ns =
        static_cast<double>(clock_->MonotonicNs() - begin_ns_);
    if (static_cast<double>(issued) <= passed_ns / kSecondNs * rate) return;
    absl::SleepFor(absl::Milliseconds(1));
  }
}

bool Crew::WaitFinished(absl::Duration timeout) {
  const int64_t timeout_ns = absl::ToInt64Nanoseconds(timeout);
  MutexLock lock(&mu_);
  while (running_ > 0) {
    // A waking for nothing, which is rare, makes it wait anew.
    if (finished_.WaitForNs(&mu_, timeout_ns)) return running_ == 0;
  }
  return true;
}

CrewResult Crew::Join() {
  CrewResult result;
  for (Producer& producer : producers_) {
    if (producer.thread.joinable()) producer.thread.join();
    result.issued += producer.issued;
    if (result.status.ok()) result.status = producer.window->failure();
  }
  result.ack_us = ack_us();
  MutexLock lock(&mu_);
  result.seconds = static_cast<double>(end_ns_ - begin_ns_) / kSecondNs;
  return result;
}

uint64_t Crew::done() const {
  uint64_t done = 0;
  for (const Producer& producer : producers_) done += producer.window->done();
  return done;
}

uint64_t Crew::due_at_once() const {
  uint64_t count = 0;
  for (const Producer& producer : producers_) {
    count += producer.window->due_at_once();
  }
  return count;
}

Histogram Crew::ack_us() const {
  Histogram all;
  for (const Producer& producer : producers_) producer.window->AddTo(&all);
  return all;
}

}  // namespace hourglass
