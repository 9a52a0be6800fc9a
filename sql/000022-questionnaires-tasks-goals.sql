-- questionnaires-tasks-goals
SELECT 1;
