# Names of states, events and the like: the same words wherever a table or a sentence shows one.
state =
    { $name ->
        [put_back] put back
        [handed_back] handed back
        [retry_planned] retry planned
       *[other] { $name }
    }
schedule = { $name }
event =
    { $name ->
        [run_now] run now
        [released] what it waited for ended
        [retry_planned] retry planned
        [put_back] put back: task unknown here
        [asked] asks a person
        [default_taken] default taken
        [question_expired] nobody answered in time
        [stop_requested] asked to stop
        [forced] end forced
        [body_returned] body returned
        [handed_back] handed back
        [held] held for a person: its worker was shut down
        [interrupted] its worker died
        [rerun] run again
        [followed] a job follows
        [not_followed] what was to follow did not come
        [result_restored] result restored
        [begun_by] begun by another system
        [delivered_again] ticket delivered again
        [input_changed] the input had changed, and was accepted
        [refused] a late word of an earlier run was refused
        [queue_paused] queue paused
        [queue_resumed] queue resumed
        [limit_set] limit set
        [limit_reset] limit as declared
        [token_created] token made
        [token_revoked] token revoked
        [logged_in] logged in
        [logged_out] logged out
        [login_failed] login failed
        [error_acknowledged] error acknowledged
        [error_muted] error muted
        [error_mended] error said to be mended
        [error_reopened] error opened again
        [bulk_started] bulk action started
        [jobs_deleted] jobs deleted
        [jobs_imported] jobs imported
        [imported] imported
        [schedule_added] schedule added
        [schedule_changed] declared otherwise
        [schedule_retired] no more declared
        [schedule_declared_again] declared again
        [schedule_edited] schedule edited
        [schedule_as_declared] as declared again
        [schedule_paused] schedule paused
        [schedule_resumed] schedule resumed
        [schedule_without_task] nobody knows its task
        [slot_missed] times missed
        [schedule_finished] no more times
        [schedule_removed] schedule removed
        [schedule_run_now] schedule run now
       *[other] { $name }
    }
end =
    { $name ->
        [ended] any end
       *[other] { $name }
    }
origin = { $name }
actor = { $name }
part =
    { $name ->
        [tasks] { $count ->
            [one] { $count } task
           *[other] { $count } tasks
        }
        [schedules] { $count ->
            [one] { $count } schedule
           *[other] { $count } schedules
        }
        [channels] { $count ->
            [one] { $count } channel
           *[other] { $count } channels
        }
        [routes] { $count ->
            [one] { $count } route
           *[other] { $count } routes
        }
        [commands] { $count ->
            [one] { $count } command
           *[other] { $count } commands
        }
        [loops] { $count ->
            [one] { $count } loop
           *[other] { $count } loops
        }
        [topics] { $count ->
            [one] { $count } live topic
           *[other] { $count } live topics
        }
        [pages] { $count ->
            [one] { $count } page
           *[other] { $count } pages
        }
        [tables] { $count ->
            [one] { $count } table
           *[other] { $count } tables
        }
        [uses] { $count ->
            [one] { $count } other plug-in
           *[other] { $count } other plug-ins
        }
       *[other] { $count } { $name }
    }
periods =
    { $name ->
        [year] { $count ->
            [one] { $count-grouped } year
           *[other] { $count-grouped } years
        }
        [month] { $count ->
            [one] { $count-grouped } month
           *[other] { $count-grouped } months
        }
        [week] { $count ->
            [one] { $count-grouped } week
           *[other] { $count-grouped } weeks
        }
        [day] { $count ->
            [one] { $count-grouped } day
           *[other] { $count-grouped } days
        }
        [hour] { $count ->
            [one] { $count-grouped } hour
           *[other] { $count-grouped } hours
        }
       *[other] { $count-grouped } { $name }
    }
field =
    { $name ->
        [next_start] next start
        [period_file] period/file
        [handed_over] handed over
        [begun_as] begun as
        [delivered_again] again
        [last_used] last used
        [good_until] good until
        [up_to] up to
        [in_its_way] in its way
        [to_run] to run
        [will_be] will be
        [instead_of] instead of
        [set_from_outside] set from outside
        [for_example] for example
        [planned_for] planned for
        [submitted_by] submitted by
        [declared_by] declared by
        [runs_for] runs for
        [why_waiting] why it waits
        [waits_for] waits for
        [last_job] last job
        [sha_256] SHA-256
        [plug_in] plug-in
        [plug_ins] plug-ins
        [catch_up] catch up
        [pause_after_failures] pause after failures
        [ends_at] ends at
        [max_runs] max runs
        [if_done] if done
       *[other] { $name }
    }
