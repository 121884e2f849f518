//! What a cluster refuses, and how that is reported: what, where and what to do, once, while all else goes
//! on. The shipped program, `apply` and `run`, on the simulator as far as it can play it, and on a real
//! server.

mod admission;
mod adopted;
mod audit;
mod checking;
mod credentials;
mod deleted;
mod entry;
mod fixture;
mod fleets;
mod halved;
mod hooked;
mod hosted;
mod installing;
mod kinds;
mod namespaces;
mod operating;
mod platform;
mod private;
mod provider;
mod recorded;
mod restart;
mod rights;
mod suspended;
mod tenants;
mod watched;
mod writers;

/// These sleep for minutes, so they do it together.
#[test]
fn steps_that_back_off_for_minutes_continue_by_themselves() {
    let slow: [(&str, fn()); 3] = [
        (
            "a namespace that ends",
            namespaces::waits_until_it_is_made_again,
        ),
        (
            "a full quota",
            admission::is_retried_until_the_quota_allows_it,
        ),
        (
            "refused credentials",
            credentials::are_named_until_the_file_has_others,
        ),
    ];
    std::thread::scope(|scope| {
        for (name, proof) in slow {
            let thread = std::thread::Builder::new().name(name.to_owned());
            thread.spawn_scoped(scope, proof).expect("a thread");
        }
    });
}
